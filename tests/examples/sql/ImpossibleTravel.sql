WITH pair AS (
  SELECT a.ts AS first_ts, b.ts AS ts, b.usr AS usr, b.ip AS ip, abs(a.lat - b.lat) AS lat, abs(a.lon - b.lon) AS lon
  FROM Login a JOIN Login b USING (usr)
  WHERE a.ok AND b.ok AND a.ts < b.ts
)
SELECT DISTINCT usr, ts AS at, ip
FROM pair
WHERE (lat > 5 OR lon > 10) AND lon <= 180
  AND epoch(ts) - epoch(first_ts) < 3600 * greatest(lat / 8.2, lon / 16.4)
  AND ts - first_ts <= INTERVAL 10 HOUR
