# What the measured fits in R share: what benchmarks/child.py is for Python. Arguments are key=value.
job <- list()
for (argument in commandArgs(trailingOnly = TRUE)) {
  at <- regexpr("=", argument, fixed = TRUE)
  job[[substr(argument, 1, at - 1)]] <- substring(argument, at + 1)
}

read_npy <- function(file, what) {
  connection <- file(file, "rb")
  on.exit(close(connection))
  start <- readBin(connection, "raw", 10)
  header <- as.integer(start[9]) + 256L * as.integer(start[10])
  readBin(connection, "raw", header)
  readBin(connection, what, (file.size(file) - 10 - header) / if (what == "double") 8 else 4)
}

write_npy <- function(values, shape, file) {
  header <- sprintf("{'descr': '<f8', 'fortran_order': True, 'shape': (%s), }",
                    paste0(shape, ",", collapse = " "))
  header <- paste0(formatC(header, width = -117), "\n")
  connection <- file(file, "wb")
  on.exit(close(connection))
  writeBin(as.raw(c(0x93, utf8ToInt("NUMPY"), 1, 0, nchar(header), 0)), connection)
  writeBin(charToRaw(header), connection)
  writeBin(as.double(values), connection)
}

memory <- function(field) {
  status <- try(readLines("/proc/self/status"), silent = TRUE)
  line <- grep(field, status, value = TRUE)
  if (length(line)) 1024 * as.numeric(gsub("[^0-9]", "", line[1])) else 0
}

# The corner that benchmarks/child.py warms up with.
corner_rows <- function(n) seq_len(min(n, if (job$sparse == "True") 2000 else 64))
corner_columns <- function(p) seq_len(min(p, if (job$sparse == "True") 200 else 8))

# Time fit() after warm_up(): its result, and what it cost.
measure <- function(warm_up, fit) {
  started <- proc.time()[["elapsed"]]
  try(suppressWarnings(warm_up()), silent = TRUE)
  warm_up_s <- proc.time()[["elapsed"]] - started
  invisible(gc())
  try(cat("5", file = "/proc/self/clear_refs"), silent = TRUE)
  before <- memory("VmRSS")
  warned <- character()
  started <- proc.time()
  fitted <- withCallingHandlers(fit(), warning = function(w) {
    warned <<- c(warned, conditionMessage(w))
    invokeRestart("muffleWarning")
  })
  spent <- proc.time() - started
  peak <- memory("VmHWM")
  list(fitted = fitted, spent = spent, peak = peak, extra = max(0, peak - before),
       warm_up_s = warm_up_s, warned = unique(warned))
}

# `more` is the rest of the JSON, each entry after a comma.
report <- function(cost, more = "") {
  text <- gsub('["\\\\\n]', " ", cost$warned)
  cat(sprintf(paste0('{"cpu_s": %.6f, "wall_s": %.6f, "peak_rss_bytes": %.0f, ',
                     '"extra_rss_bytes": %.0f, "warm_up_s": %.3f, "warnings": [%s], ',
                     '"intercept": 0.0, "claims": {}%s}\n'),
              cost$spent[["user.self"]] + cost$spent[["sys.self"]], cost$spent[["elapsed"]],
              cost$peak, cost$extra, cost$warm_up_s,
              paste0(rep('"', length(text)), text, rep('"', length(text)), collapse = ", "), more),
      file = job$result)
}
