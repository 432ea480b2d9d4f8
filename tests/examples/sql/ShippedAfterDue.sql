SELECT o.ts AS _start, s.ts AS _end, o.order_id AS order_id, o.due AS due, s.ts AS shipped_at, s.carrier AS carrier
FROM Ordered o JOIN Shipped s USING (order_id)
WHERE o.ts < s.ts AND s.ts > o.due AND s.ts - o.ts <= INTERVAL 14 DAY
