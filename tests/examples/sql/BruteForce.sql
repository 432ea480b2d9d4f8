-- A success with four failures at different times in the five minutes before it: no join needed.
SELECT s.usr AS usr, s.ip AS ip, s.ts AS at
FROM Login s
WHERE s.ok AND (
  SELECT count(DISTINCT f.ts)
  FROM Login f
  WHERE f.usr = s.usr AND f.ip = s.ip AND f.ok = FALSE AND f.ts < s.ts AND f.ts >= s.ts - INTERVAL 5 MINUTE
) >= 4
