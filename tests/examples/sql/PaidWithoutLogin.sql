SELECT p.ts AS _start, p.ts AS _end, p.usr AS usr, p.ts AS paid_at, p.amount AS amount
FROM Payment p
WHERE p.amount >= 1000
  AND NOT EXISTS (
    FROM Login l WHERE l.usr = p.usr AND l.ok AND l.ts < p.ts AND l.ts >= p.ts - INTERVAL 30 MINUTES
  )
