# One measured fit of glmnet; what benchmarks/child.py is for Python. Arguments are key=value.
suppressMessages({library(Matrix); library(glmnet)})

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

n <- as.integer(job$n)
p <- as.integer(job$p)
if (job$sparse == "True") {
  X <- new("dgCMatrix", x = read_npy(job$X_data, "double"), i = read_npy(job$X_indices, "integer"),
           p = read_npy(job$X_indptr, "integer"), Dim = c(n, p))
} else {
  X <- read_npy(job$X, "double") # stored by columns, as R wants them
  dim(X) <- c(n, p)
}
y <- read_npy(job$y, "double")
alphas <- read_npy(job$lams, "double") / n
tol <- as.numeric(job$tol)
by_path <- job$variant == "by path"
logistic <- as.integer(job$classes) > 0
if (logistic) y <- factor(y)
foldid <- if (job$task == "lasso-cv") read_npy(job$fold_ids, "integer") + 1L

# Or a path ends where enough is explained.
invisible(glmnet.control(fdev = 0, devmax = 1))

# The smallest penalty without weights.
largest_alpha <- function(X, y) {
  if (logistic) y <- outer(as.integer(y), seq_len(nlevels(y)), "==") - 1 / nlevels(y)
  max(abs(as.matrix(crossprod(X, y)))) / NROW(y)
}

fit <- function(X, y, alphas, foldid) {
  if (by_path) {
    largest <- largest_alpha(X, y)
    alphas <- exp(seq(log(largest), log(alphas[1]), length.out = 20))
  }
  call <- if (is.null(foldid)) glmnet else function(...) cv.glmnet(..., foldid = foldid)
  family <- if (!logistic) "gaussian" else if (nlevels(y) > 2) "multinomial" else "binomial"
  call(X, y, family = family, alpha = if (grepl("^ridge", job$task)) 0 else 1, lambda = alphas,
       intercept = FALSE, standardize = FALSE, thresh = tol, maxit = 1e8,
       type.gaussian = "naive") # its own choice from 500 columns on
}

# The corner that benchmarks/child.py warms up with.
rows <- seq_len(min(n, if (job$sparse == "True") 2000 else 64))
columns <- seq_len(min(p, if (job$sparse == "True") 200 else 8))
corner_lams <- alphas / max(alphas) * largest_alpha(X[rows, columns], y[rows])
started <- proc.time()[["elapsed"]]
corner <- try(suppressWarnings(fit(X[rows, columns], y[rows], corner_lams, foldid[rows])),
              silent = TRUE)
warm_up <- proc.time()[["elapsed"]] - started

invisible(gc())
try(cat("5", file = "/proc/self/clear_refs"), silent = TRUE)
before <- memory("VmRSS")
warned <- character()
started <- proc.time()
fitted <- withCallingHandlers(fit(X, y, alphas, foldid), warning = function(w) {
  warned <<- c(warned, conditionMessage(w))
  invokeRestart("muffleWarning")
})
spent <- proc.time() - started
peak <- memory("VmHWM")

extra <- ""
last <- length(fitted$lambda)
if (is.null(foldid) && last < length(alphas)) {
  stop("the path ended early")
} else if (is.list(fitted$beta)) {
  beta <- sapply(fitted$beta, function(one) one[, last])
  write_npy(t(beta), c(ncol(beta), p), job$coef)
} else if (is.null(foldid) && !grepl("-path$", job$task)) {
  write_npy(fitted$beta[, last], p, job$coef)
} else if (is.null(foldid)) {
  write_npy(t(as.matrix(fitted$beta)), c(last, p), job$coef)
} else {
  best <- which.min(fitted$cvm)
  write_npy(fitted$glmnet.fit$beta[, best], p, job$coef)
  write_npy(fitted$cvm, length(fitted$cvm), job$curve)
  extra <- sprintf(', "lam": %.17g', fitted$lambda[best] * n)
}
text <- gsub('["\\\\\n]', " ", unique(warned))
cat(sprintf(paste0('{"cpu_s": %.6f, "wall_s": %.6f, "peak_rss_bytes": %.0f, "extra_rss_bytes": %.0f, ',
                   '"warm_up_s": %.3f, "warnings": [%s], "intercept": 0.0, "claims": {}%s}\n'),
            spent[["user.self"]] + spent[["sys.self"]], spent[["elapsed"]], peak,
            max(0, peak - before), warm_up,
            paste0(rep('"', length(text)), text, rep('"', length(text)), collapse = ", "), extra),
    file = job$result)
