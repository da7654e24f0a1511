from winnow.audit.result import AuditResult as AuditResult
from winnow.audit.result import Kind as Kind
from winnow.audit.result import summary as summary
from winnow.audit.run import run_audits as run_audits
