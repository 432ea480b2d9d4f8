SELECT least(r.ts, d.ts) AS _start, t.ts AS _end,
  t.acc AS acc, r.ts AS reset_at, d.device AS device, t.amount AS amount, t.dst AS payee
FROM Transfer t, PasswordReset r, DeviceAdded d
WHERE t.acc = r.acc AND t.acc = d.acc AND t.device = d.device AND t.amount > 1000
  AND t.ts > r.ts AND t.ts > d.ts
  AND t.ts - least(r.ts, d.ts) <= INTERVAL 2 HOUR
