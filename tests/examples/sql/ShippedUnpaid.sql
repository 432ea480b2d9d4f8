SELECT o.ts AS _start, p.ts AS _end, o.order_id AS order_id, s.carrier AS carrier, p.ts AS paid_at
FROM Ordered o JOIN Shipped s USING (order_id) JOIN Paid p USING (order_id)
WHERE o.ts < s.ts AND s.ts < p.ts AND p.ts <= o.ts + INTERVAL 14 DAY
