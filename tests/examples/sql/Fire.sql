SELECT s.ts AS _start, t.ts AS _end,
  t.area AS area, s.density AS density, t.celsius AS celsius, date_diff('microsecond', s.ts, t.ts) AS "after"
FROM Smoke s JOIN Temperature t USING (area)
WHERE s.density > 0.1::DOUBLE AND t.celsius > 45 AND t.ts > s.ts AND t.ts <= s.ts + INTERVAL 5 MINUTE
