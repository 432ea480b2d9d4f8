-- An outer join: with each confirmation between, or with none.
WITH payments AS (
  SELECT ts, acc, amount, 'Transfer' AS how FROM Transfer
  UNION ALL SELECT ts, acc, amount, 'Card' FROM Card
  UNION ALL SELECT ts, acc, amount, 'Cash' FROM Cash
)
SELECT r.ts AS _start, p.ts AS _end, r.acc AS acc, p.amount AS amount, p.how AS how, c.ts AS confirmed_at
FROM PasswordReset r
JOIN payments p ON p.acc = r.acc AND p.ts > r.ts AND p.ts - r.ts <= INTERVAL '1 hour' AND p.amount > 500
LEFT JOIN Confirmed c ON c.acc = r.acc AND c.channel = 'phone' AND c.ts > r.ts AND c.ts < p.ts
