WITH seen AS (
    SELECT *, lag(celsius) OVER (PARTITION BY machine ORDER BY ts, celsius) AS before FROM Reading
), numbered AS (
    SELECT *, sum(CASE WHEN celsius > before THEN 0 ELSE 1 END)
        OVER (PARTITION BY machine ORDER BY ts, celsius ROWS UNBOUNDED PRECEDING) AS run
    FROM seen
)
SELECT min(r.ts) AS _start, s.ts AS _end, s.machine AS machine, s.ts AS stopped_at, count(*) AS readings,
    first(r.celsius ORDER BY r.ts, r.celsius) AS low, last(r.celsius ORDER BY r.ts, r.celsius) AS high
FROM Stopped s
JOIN numbered r ON r.machine = s.machine AND r.ts < s.ts AND r.ts >= s.ts - INTERVAL 15 MINUTES
WHERE s.reason <> 'maintenance'
  AND r.run = (SELECT max(l.run) FROM numbered l WHERE l.machine = s.machine AND l.ts < s.ts)
GROUP BY s.machine, s.ts
HAVING count(*) >= 5 AND high - low >= 10
