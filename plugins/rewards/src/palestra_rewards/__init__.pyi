from .advantages import Advantages as Advantages
from .chain import estimate as estimate, estimator as estimator, shape as shape
from .entries import Entry as Entry, entries as entries, entry as entry
from .facts import nest_records as nest_records
from .group import Group as Group
from .needs import Lacking as Lacking
