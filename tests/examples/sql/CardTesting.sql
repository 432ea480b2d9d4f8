SELECT s1.ts AS _start, l.ts AS _end, l.acc AS acc, s1.ts AS first_ts, l.ts AS last_ts, l.amnt AS amount
FROM Trans s1
JOIN Trans s2 ON s2.acc = s1.acc AND s2.ts > s1.ts
JOIN Trans l ON l.acc = s1.acc AND l.ts > s2.ts AND l.ts <= s1.ts + INTERVAL 1 HOUR
WHERE s1.amnt < 100 AND s2.amnt < 100 AND l.amnt > 400
