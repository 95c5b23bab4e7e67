# One measured fit of glmnet.
suppressMessages({library(Matrix); library(glmnet)})
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))),
                 "child.R"))

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

rows <- corner_rows(n)
columns <- corner_columns(p)
corner_lams <- alphas / max(alphas) * largest_alpha(X[rows, columns], y[rows])
cost <- measure(function() fit(X[rows, columns], y[rows], corner_lams, foldid[rows]),
                function() fit(X, y, alphas, foldid))
fitted <- cost$fitted

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
report(cost, extra)
