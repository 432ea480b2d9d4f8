-- An accepted connection with three refused ports in the minute before it: no join needed.
SELECT DISTINCT c.src AS src, c.dst AS dst, c.port AS port, c.ts AS at
FROM Conn c
WHERE c.accepted AND (
  SELECT count(DISTINCT p.port)
  FROM Conn p
  WHERE p.src = c.src AND p.dst = c.dst AND NOT p.accepted AND p.ts < c.ts AND p.ts >= c.ts - INTERVAL 1 MINUTE
) >= 3
