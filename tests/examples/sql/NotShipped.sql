SELECT o.ts AS _start, o.ts AS _end, o.order_id AS order_id, o.ts AS ordered_at, o.total AS total
FROM Ordered o
WHERE o.total > 20
  AND NOT EXISTS (
    FROM Shipped s
    WHERE s.order_id = o.order_id AND NOT s.part AND s.ts > o.ts AND s.ts <= o.ts + INTERVAL 2 DAY
  )
  AND NOT EXISTS (
    FROM Cancelled c WHERE c.order_id = o.order_id AND c.ts > o.ts AND c.ts <= o.ts + INTERVAL 2 DAY
  )
