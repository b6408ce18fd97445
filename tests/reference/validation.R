# Figures of tests/reference/test_validation_in_r.py: Rscript tests/reference/validation.R
# R with MASS (profile likelihood), rms (val.prob) and pROC (DeLong), as in Debian: r-base-core r-cran-mass r-cran-rms
# r-cran-proc. The data come from a formula, so that no file is needed.
suppressMessages({library(MASS); library(rms); library(pROC)})

rows <- function(n, base) {
  i <- 1:n
  x <- base + 1.5 * sin(i)
  list(x = x, s = plogis(x), y = as.integer(((7919 * i) %% 1009) / 1009 < plogis(0.3 + 0.8 * x)))
}

say <- function(name, ...) cat(sprintf("%s %s\n", name, paste(sprintf("%.10g", c(...)), collapse = " ")))

cat(R.version.string, "MASS", format(packageVersion("MASS")), "rms", format(packageVersion("rms")),
    "pROC", format(packageVersion("pROC")), "\n")
for (case in list(list("ordinary", 500, -0.5, 0.1), list("rare", 2000, -5, 0.01))) {
  d <- rows(case[[2]], case[[3]])
  cat(case[[1]], "\n")
  say("positives", sum(d$y))
  exact <- glm.control(epsilon = 1e-14, maxit = 100)
  line <- glm(d$y ~ d$x, family = binomial, control = exact)
  fixed <- glm(d$y ~ 1, offset = d$x, family = binomial, control = exact)
  say("line", coef(line))
  say("line_se", sqrt(diag(vcov(line))))
  ends <- suppressMessages(confint(profile(line, alpha = 1e-4, del = 0.02, maxsteps = 400)))
  say("profile_intercept", ends[1, ])
  say("profile_slope", ends[2, ])
  say("fixed", coef(fixed), sqrt(vcov(fixed)[1, 1]))
  say("observed_expected", sum(d$y) / sum(d$s))
  p <- binom.test(sum(d$y), length(d$y))$conf.int
  say("rate", p)
  v <- suppressWarnings(val.prob(d$s, d$y, pl = FALSE))
  say("val.prob", v[c("C (ROC)", "Intercept", "Slope", "Brier", "Emax", "E90", "Eavg")])
  r <- roc(d$y, d$s, quiet = TRUE, direction = "<")
  say("auc", as.numeric(r$auc), sqrt(var(r)))
  smooth <- predict(loess(d$y ~ d$s))  # Austin & Steyerberg (2019), their code
  off <- abs(smooth - d$s)
  exact_loess <- predict(loess(d$y ~ d$s, control = loess.control(surface = "direct")))
  off_exact <- abs(exact_loess - d$s)
  say("ici", mean(off), median(off), quantile(off, 0.9), max(off))
  say("ici_direct", mean(off_exact), median(off_exact), quantile(off_exact, 0.9), max(off_exact))
  t <- case[[4]]; w <- t / (1 - t)
  gain <- ifelse(d$s >= t, ifelse(d$y == 1, 1, -w), 0)
  say("net_benefit", mean(gain), t.test(gain)$conf.int)
  say("brier", mean((d$y - d$s)^2), t.test((d$y - d$s)^2)$conf.int)
  loss <- -ifelse(d$y == 1, log(d$s), log1p(-d$s))
  say("log_loss", mean(loss), t.test(loss)$conf.int)
  say("observed_minus_predicted", mean(d$y - d$s), t.test(d$y - d$s)$conf.int)
}
