from calibrant.certificates.widths.anytime import anytime_width as anytime_width
from calibrant.certificates.widths.closed_form import asymptotic_width as asymptotic_width
from calibrant.certificates.widths.closed_form import brownian_width as brownian_width
from calibrant.certificates.widths.closed_form import monotone_width as monotone_width
from calibrant.certificates.widths.default import bernstein_width as bernstein_width
from calibrant.certificates.widths.default import default_width as default_width
