SELECT g.ts AS _start, u.ts AS _end,
  g.usr AS usr, g.role AS role, f.path AS path, u.host AS host, u.dst AS dst, u.bytes AS bytes
FROM RoleGranted g
JOIN FileRead f ON f.usr = g.usr AND f.ts > g.ts
JOIN Upload u ON u.host = f.host AND u.ts > f.ts
WHERE lower(g.role) IN ('admin', 'root', 'backup') AND starts_with(f.path, '/secret/') AND NOT starts_with(u.dst, '10.')
  AND u.bytes > f.bytes * 0.3::DOUBLE AND u.bytes < f.bytes * 1.1::DOUBLE
  AND u.ts - f.ts <= INTERVAL 30 MINUTE AND u.ts - g.ts <= INTERVAL 8 HOUR
