from winnow.privacy.ledger.accounts import Dataset as Dataset
from winnow.privacy.ledger.accounts import Share as Share
from winnow.privacy.ledger.entry import Entry as Entry
from winnow.privacy.ledger.ledger import Ledger as Ledger
from winnow.privacy.ledger.recorded import RecordedBudget as RecordedBudget
from winnow.privacy.ledger.recorded import RecordedSession as RecordedSession
from winnow.privacy.ledger.recorded import SessionMark as SessionMark
from winnow.privacy.ledger.verification import Verification as Verification
