# One measured fit of kernlab's rvm.
suppressMessages(library(kernlab))
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))),
                 "child.R"))

n <- as.integer(job$n)
X <- matrix(read_npy(job$X, "double"), nrow = n) # stored by columns, as R wants them
y <- read_npy(job$y, "double")
X_test <- read_npy(job$X_test, "double")
X_test <- matrix(X_test, ncol = ncol(X))

fit <- function(rows) {
  rvm(X[rows, , drop = FALSE], y[rows], type = "regression", kernel = "rbfdot",
      kpar = list(sigma = as.numeric(job$gamma)))
}
cost <- measure(function() fit(corner_rows(n)), function() fit(seq_len(n)))

fitted <- cost$fitted
weights <- numeric(n)
weights[RVindex(fitted)] <- unlist(alpha(fitted))
write_npy(weights, n, job$coef)
mean <- drop(predict(fitted, X_test))
write_npy(rbind(mean, NaN), c(2, length(mean)), job$prediction)
report(cost, sprintf(', "noise_std": %.17g', sqrt(nvar(fitted))))
