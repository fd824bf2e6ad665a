"""A doctor for a Transformer of your own: it tries the model and says what is wrong.

`examine` takes your ``nn.Module``, however it is written, and runs it on small inputs
of its own. It asks what must hold for every sound Transformer: the future cannot
change the past, padding counts nowhere, no row of a batch depends on another. It also
watches the operations inside a forward pass, so it sees the weights of each attention,
what the scores are divided by, and where the residual connections are. Whatever else
you give it (your loss, batches, decoding function, optimizer, schedule, tokenizer,
corpus) is examined, too.

Each examination is a module of `tformer.doctor.examinations`, and needs no further
registration. If it is about one argument of `examine`, it names that as ``ARGUMENT``,
and the book's chapter on what it finds as ``CHAPTER``.
Chapters *When training fails* and *Bring your own model*.
"""

from tformer.doctor._keep import CannotExamine
from tformer.doctor._run import examine
from tformer.doctor.report import Finding, NotTried, Remark, Report

__all__ = ["CannotExamine", "Finding", "NotTried", "Remark", "Report", "examine"]
