WITH request AS (
    SELECT *, lag(ts) OVER (PARTITION BY visitor ORDER BY ts, path) AS before,
        lead(ts) OVER (PARTITION BY visitor ORDER BY ts, path) AS after
    FROM Request
), numbered AS (
    SELECT *, sum(CASE WHEN ts - before <= INTERVAL 30 SECONDS THEN 0 ELSE 1 END)
        OVER (PARTITION BY visitor ORDER BY ts, path ROWS UNBOUNDED PRECEDING) AS session
    FROM request
), ended AS (
    SELECT visitor, session, max(ts) AS ends
    FROM numbered
    GROUP BY visitor, session
    HAVING bool_or(after IS NULL OR after > ts + INTERVAL 30 SECONDS)
)
SELECT min(r.ts) AS _start, max(r.ts) AS _end, r.visitor AS visitor, min(r.ts) AS begins, max(r.ts) AS ends,
    count(*) AS requests, count(DISTINCT r.path) AS pages, first(r.path ORDER BY r.ts, r.path) AS entry,
    last(r.path ORDER BY r.ts, r.path) AS exit_page
FROM ended e JOIN numbered r ON r.visitor = e.visitor AND r.session = e.session AND r.ts >= e.ends - INTERVAL 5 MINUTES
GROUP BY r.visitor, r.session
HAVING count(*) >= 20
