SELECT own.ts AS _start, back.ts AS _end,
  own.broker AS broker, own.symbol AS symbol, client.account AS client, own.qty AS qty,
  abs(back.price - own.price) AS gain
FROM Trade own
JOIN Trade client USING (symbol, broker)
JOIN Trade back USING (symbol, broker)
WHERE own.account = 'HOUSE' AND client.account <> 'HOUSE' AND back.account = 'HOUSE'
  AND client.side = own.side AND client.qty >= 10 * own.qty
  AND own.ts < client.ts AND client.ts <= own.ts + INTERVAL 5 SECOND
  AND client.ts < back.ts AND back.ts <= own.ts + INTERVAL 1 MINUTE
  AND ((own.side = 'BUY' AND back.side = 'SELL' AND back.price > own.price)
    OR (own.side = 'SELL' AND back.side = 'BUY' AND back.price < own.price))
