-- wrk: POST the reviews of the file named by REVIEWS, one a line, in turn.
local bodies, turn = {}, 0
for line in io.lines(os.getenv("REVIEWS")) do
  bodies[#bodies + 1] = line
end

function request()
  turn = turn % #bodies + 1
  return wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, bodies[turn])
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format("RESULT %d %.3f %.3f %d", summary.requests,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
