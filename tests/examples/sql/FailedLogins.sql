SELECT f.since AS _start, s.ts AS _end, s.usr AS usr, f.failures, f.addresses, f.since, s.ts AS at
FROM Login s, LATERAL (
    SELECT count(*) AS failures, count(DISTINCT f.ip) AS addresses, min(f.ts) AS since
    FROM Login f
    WHERE f.usr = s.usr AND NOT f.ok AND f.ts < s.ts AND f.ts >= s.ts - INTERVAL 5 MINUTES
) f
WHERE s.ok AND f.failures >= 5
