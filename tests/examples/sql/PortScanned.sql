SELECT DISTINCT e.src AS src, e.dst AS dst
FROM Conn e, LATERAL (
    SELECT count(DISTINCT c.port) AS ports
    FROM Conn c
    WHERE c.src = e.src AND c.dst = e.dst AND NOT c.accepted AND c.ts <= e.ts AND c.ts >= e.ts - INTERVAL 1 MINUTE
) c
WHERE NOT e.accepted AND c.ports >= 20
