"""Lists of words that rules look up. No rules here."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOP_WORDS = _set(
    """
    a about above across after again against all also although am among an and any are aren't as at be because
    been before being below between both but by can can't cannot could did didnt do does doesnt doing don't dont
    down during each either etc few for from further get gets give gives given had has hasnt have having he her
    here hers him his how however i if in into is isnt it its itself just let lets like many may me might more
    most much must my neither no nor not of off on once one only onto or other our out over own per please same
    say says shall she should so some such tell than that the their them then there these they thing things this
    those through thus to too toward towards under until up upon us use used uses using very via was wasnt we were
    what whats when where whether which while who whom whose why will with within without would yet you your paper
    papers article articles publication publications 什么 多少 哪些 哪个 哪种 如何 怎么 怎样 为什 么样 是否 可以 这个
    那个 这些 那些 请问 告诉 论文 文章
    的是 是什 有哪 の は が を に で と も です ます した する
    """
)
"""Words without content of their own (folded). In a library of papers, "paper" tells nothing apart either."""

GOES_ON = _set(
    """
    e.g i.e cf vs fig figs eq eqs eqn eqns sec secs sect ref refs tab vol pp ch thm lem prop def alg app approx
    resp ca viz dr mr mrs ms prof st messrs dept univ assoc suppl incl excl avg
    """
)
"""Abbreviations after whose full stop the sentence goes on, whatever comes next."""

MAY_END = _set(
    """
    al etc i.i.d iid a.k.a w.r.t s.t u.s u.k e.u u.s.a ph.d b.sc m.sc inc ltd co corp jr sr a.m p.m seq spp sp
    """
)
"""Abbreviations that may end a sentence: they do when a word follows that likes to open one."""

OPENERS = _set(
    """
    a according additionally all also although among an and another any applied as at based because beyond both
    building but by code compared consequently crucially despite due during each empirically even existing
    experiments extensive finally first for from furthermore given having hence here how however i if importantly
    in indeed instead it its leveraging many more moreover most motivated my next no notably nevertheless
    numerical of on once one only our overall prior rather recent recently results second several she similarly
    since so some specifically still such surprisingly that the their then theoretically there therefore these
    they third this those though through throughout thus to together two under unlike unfortunately until using
    via we what when where whereas whether which while who why with within without yet you he
    """
)
"""Words that like to open a sentence."""

COMMON_ACRONYMS = _set(
    """
    ai ml dl rl nlp cv llm llms mllm mllms lvlm vlm vlms lm lms slm vla gnn gnns gcn cnn cnns rnn rnns dnn dnns
    mlp mlps vae vaes gan gans gp gps mdp mdps pomdp pomdps sgd kl ot fl cl il rag api apis gpu gpus cpu cpus tpu
    2d 3d 4d sde sdes ode odes pde pdes vqa qa ood iid ssl svm pca mcmc em hmm moe kv marl rlhf sft cot icl asr
    tts ocr mri fmri eeg ecg ct rna dna hpc iot mas nas sota fid rgb hci kg kgs ner bert gpt clip vit vits lstm
    lstms dag dags bnn bnns snn snns ntk drl irl mpc
    """
)
"""Acronyms of whole fields: no paper's own name, however it is introduced."""
