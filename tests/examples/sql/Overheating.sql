SELECT least(w.ts, b.ts, a.ts) AS _start, greatest(w.ts, b.ts, a.ts) AS _end,
  w.machine AS machine, w.celsius AS winding, b.celsius AS bearing, a.celsius AS air, b.vibration AS vibration
FROM Winding w
JOIN Bearing b ON b.hall = w.hall AND b.machine = w.machine
JOIN Air a ON a.hall = w.hall
WHERE w.celsius > a.celsius + 60 AND b.celsius > w.celsius * 0.6::DOUBLE AND b.vibration > 4.5::DOUBLE
  AND greatest(w.ts, b.ts, a.ts) - least(w.ts, b.ts, a.ts) <= INTERVAL 1 MINUTE
