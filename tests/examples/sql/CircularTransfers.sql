SELECT a.ts AS _start, c.ts AS _end,
  a.acc AS first, b.acc AS second, c.acc AS third, a.amount AS sent, c.amount AS returned
FROM Transfer a
JOIN Transfer b ON b.acc = a.dst AND b.ts > a.ts AND b.amount <= a.amount AND b.amount >= a.amount * 0.9::DOUBLE
JOIN Transfer c ON c.acc = b.dst AND c.dst = a.acc AND c.ts > b.ts AND c.amount <= b.amount
  AND c.amount >= b.amount * 0.9::DOUBLE
WHERE a.amount >= 5000 AND c.ts <= a.ts + INTERVAL 1 DAY
  AND a.acc <> b.acc AND b.acc <> c.acc AND c.acc <> a.acc
