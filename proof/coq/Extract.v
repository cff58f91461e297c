(** The functions of the model as OCaml, for `proof/compare.py`. Texts become OCaml's strings and numbers its integers; the
    rest is extracted as it is. *)

From Coq Require Import String Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlNativeString.
From llmdo Require Import Law Teams Flows.

Extract Inlined Constant String.eqb => "String.equal".

Extraction "model.ml" decide base_rules reach labels_below after_strangers built_in only_by_full_name outside_ceilings only_reads without_effect roots.
