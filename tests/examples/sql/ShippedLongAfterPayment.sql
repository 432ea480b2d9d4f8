SELECT o.ts AS _start, s.ts AS _end,
  o.order_id AS order_id, p.ts AS paid_at, date_diff('microsecond', p.ts, s.ts) AS waited
FROM Ordered o JOIN Paid p USING (order_id) JOIN Shipped s USING (order_id)
WHERE o.ts < p.ts AND p.ts < s.ts AND p.amount >= o.total
  AND s.ts > p.ts + INTERVAL 2 DAY AND s.ts <= o.ts + INTERVAL 14 DAY
