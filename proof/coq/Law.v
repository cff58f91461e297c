(** The law of DESIGN 5 and docs/capabilities.md: capabilities, rules, layers, ceilings, and the decision on one call.

    Each definition names the function of llmdo/policy/authority.py that it models. What is left out is in
    docs/proof.md: reasons, places, and whatever turns a call's arguments into capabilities. *)

From Coq Require Import String Bool Arith Lia List.
Import ListNotations.
Open Scope string_scope.
Open Scope nat_scope.
Open Scope list_scope.
Open Scope bool_scope.

(** * Names and scopes *)

(** `fs.write.code` as its labels: llmdo splits it at each dot. *)
Definition name := list string.

Fixpoint prefix (a b : list string) : bool :=
  match a, b with
  | [], _ => true
  | x :: a', y :: b' => String.eqb x y && prefix a' b'
  | _ :: _, [] => false
  end.

Definition same (a b : list string) : bool := prefix a b && prefix b a.

(** `in/**` is the path `in` with all below it, `**` the empty path with all below it; no scope is `**` as well. *)
Record scope := Scope { path : list string; below : bool }.

Definition everywhere := Scope [] true.

Record capability := Cap { cname : name; cscope : scope }.

Definition of_name (n : name) := Cap n everywhere.

(** `scope_contains` *)
Definition scope_contains (outer inner : scope) : bool :=
  if below outer then prefix (path outer) (path inner) else negb (below inner) && same (path outer) (path inner).

(** `Capability.contains`: every call that raises [d] falls under [c]. *)
Definition contains (c d : capability) : bool := prefix (cname c) (cname d) && scope_contains (cscope c) (cscope d).

(** `Capability.touches`: some call that raises [d] falls under [c]. *)
Definition touches (c d : capability) : bool :=
  prefix (cname c) (cname d) && (scope_contains (cscope c) (cscope d) || scope_contains (cscope d) (cscope c)).

Definition cap_eqb (c d : capability) : bool := contains c d && contains d c.

(** * Decisions *)

Inductive decision := Allowed | NeedsApproval | Blocked.

Definition rank (d : decision) : nat := match d with Allowed => 0 | NeedsApproval => 1 | Blocked => 2 end.
Definition milder (d e : decision) : Prop := rank d <= rank e.
Definition is_milder (d e : decision) : bool := rank d <=? rank e.
Definition stricter_of (d e : decision) : decision := if is_milder d e then e else d.
Definition milder_of (d e : decision) : decision := if is_milder d e then d else e.
Definition is_blocked (d : decision) : bool := match d with Blocked => true | _ => false end.

(** `strictest` *)
Definition strictest (ds : list decision) : decision := fold_right stricter_of Allowed ds.

(** * The vocabulary, as far as the law speaks of it; `proof/model/compare.py` holds it against llmdo/policy/vocabulary.py *)

Definition undeclared : name := ["capability"; "undeclared"].
Definition untrusted : name := ["data"; "untrusted"].
Definition delegate : name := ["agent"; "delegate"].

Definition only_by_full_name : list name :=
  [["proc"; "exec"; "unlisted"]; ["proc"; "exec"; "unvouched"]; ["fs"; "write"; "protected"]; ["fs"; "write"; "code"];
   ["fs"; "read"; "protected"]].

Definition outside_ceilings : list name := [untrusted; delegate].

Definition only_reads : list name := [["proc"; "exec"; "read"]].

(** What neither changes nor sends anything. *)
Definition without_effect : list name :=
  [["secret"; "read"]; ["fs"; "read"; "protected"]; ["env"; "read"]; ["proc"; "exec"; "read"]; ["fs"; "read"];
   ["mcp"; "read"]; ["fs"; "list"]; untrusted; delegate].

Definition roots : list string := ["proc"; "fs"; "secret"; "net"; "mcp"; "x"; "env"; "data"; "agent"; "capability"].

Definition is_of (n : name) (names : list name) : bool := existsb (same n) names.

Definition is_of_extension (c : capability) : bool :=
  match cname c with label :: _ => negb (existsb (String.eqb label) roots) | [] => true end.

(** * Rules *)

Record rule := Rule { about : capability; says : decision }.

(** `Rule.applies`: an `allowed` rule counts where it contains the whole call, a stricter one where it touches it. *)
Definition applies (r : rule) (c : capability) : bool :=
  match says r with Allowed => contains (about r) c | _ => touches (about r) c end.

Definition built_in : list rule :=
  [Rule (of_name ["proc"; "exec"; "unlisted"]) Blocked; Rule (of_name ["proc"; "exec"; "unvouched"]) NeedsApproval;
   Rule (of_name ["fs"; "write"; "protected"]) NeedsApproval; Rule (of_name ["fs"; "write"; "code"]) NeedsApproval;
   Rule (of_name ["fs"; "read"; "protected"]) NeedsApproval; Rule (of_name ["fs"; "read"]) Allowed;
   Rule (of_name ["fs"; "list"]) Allowed; Rule (of_name untrusted) Allowed; Rule (of_name delegate) Allowed;
   Rule (of_name undeclared) Blocked].

Definition is_everywhere (c : capability) : bool := scope_contains (cscope c) everywhere.

(** `base_rules`: a rule of the manifest for the same name replaces a built-in one; with a scope it withdraws an `allowed`. *)
Definition stands (manifest : list rule) (r : rule) : bool :=
  same (cname (about r)) undeclared
  || negb (existsb (fun own => same (cname (about own)) (cname (about r))
                               && (is_everywhere (about own) || match says r with Allowed => true | _ => false end))
                   manifest).

Definition base_rules (manifest : list rule) : list rule := filter (stands manifest) built_in ++ manifest.

(** * Ceilings *)

Definition ceiling := list capability.

(** `Capability.grants` *)
Definition grants (most raised : capability) : bool :=
  contains most raised
  && forallb (fun guarded => negb (prefix guarded (cname raised)) || prefix guarded (cname most)) only_by_full_name.

(** `Ceiling.admits` *)
Definition admits (most : ceiling) (raised : capability) : bool :=
  is_of (cname raised) outside_ceilings || existsb (fun c => grants c raised) most.

(** * Flow rules; docs/flow.md, clauses 1 and 3 of the flow law *)

Record flow := Flow {
  froms : list capability;
  sink : capability;
  asks : decision;
  is_preset : bool;
  if_sent : bool; (* only about calls that send something *)
}.

(** `Carried`: the labels of a call's context and arguments, and whether it sends anything. *)
Record carried := Carried { labels : list capability; sends : bool }.

Definition nothing := Carried [] true.

Definition carries (l : list capability) (label : capability) : bool := existsb (cap_eqb label) l.

(** A stranger's text counts where it is carried; anything else also where the call itself raises it. *)
Definition is_strange (c : capability) : bool := prefix (cname c) untrusted.

Definition counts (of_call : list capability) (k : carried) (source : capability) : bool :=
  carries (labels k) source || (negb (is_strange source) && existsb (touches source) of_call).

Definition is_for_own (f : flow) : bool := is_preset f && same (cname (sink f)) ["x"].

(** `FlowRule.applies`, with what `decide` spares of a preset *)
Definition flows_in (reads : list name) (of_call : list capability) (k : carried) (c : capability) (f : flow) : bool :=
  (touches (sink f) c || (is_for_own f && is_of_extension c))
  && negb (is_preset f && existsb (fun n => prefix n (cname c)) reads)
  && negb (if_sent f && negb (sends k))
  && forallb (counts of_call k) (froms f).

(** * The decision *)

(** `Authority` *)
Record authority := Authority {
  base : list rule; (* the result of [base_rules] *)
  default : decision;
  layers : list rule; (* of the entry, of the calling worker and of the person *)
  ceilings : list ceiling; (* of the entry and of each worker on the way *)
  flows : list flow;
  reads : list name; (* what no preset takes for an effect, by name *)
}.

Definition is_declared (declared : list capability) (c : capability) : bool :=
  negb (same (cname c) undeclared) && existsb (fun most => contains most c) declared.

(** What each rule, ceiling and flow says about one capability of a call; `_reasons` *)
Definition by_rules (a : authority) (c : capability) : list decision :=
  map (fun _ => Blocked) (filter (fun most => negb (admits most c)) (ceilings a))
  ++ (if existsb (fun r => contains (about r) c) (base a) then [] else [default a])
  ++ map says (filter (fun r => applies r c) (base a ++ layers a)).

Definition opinions (a : authority) (declared of_call : list capability) (k : carried) (c : capability) : list decision :=
  (if is_declared declared c then by_rules a c else [Blocked])
  ++ map asks (filter (flows_in (reads a) of_call k c) (flows a)).

(** `decide` *)
Definition decide (a : authority) (declared raised : list capability) (k : carried) : decision :=
  strictest (flat_map (opinions a declared raised k) raised).

(** * Facts *)

Lemma prefix_refl a : prefix a a = true.
Proof. induction a; simpl; auto. now rewrite String.eqb_refl. Qed.

Lemma prefix_app a b : prefix a b = true <-> exists c, b = a ++ c.
Proof.
  revert b; induction a as [|x a IH]; intros b; simpl.
  - split; eauto.
  - destruct b as [|y b]; split; try discriminate.
    + intros [c H]; discriminate.
    + intros H. apply andb_true_iff in H as [E H]. apply String.eqb_eq in E as ->.
      apply IH in H as [c ->]. now exists c.
    + intros [c H]. inversion H; subst. rewrite String.eqb_refl. apply IH. now exists c.
Qed.

Lemma prefix_trans a b c : prefix a b = true -> prefix b c = true -> prefix a c = true.
Proof.
  rewrite !prefix_app. intros [x ->] [y ->]. exists (x ++ y). now rewrite app_assoc.
Qed.

Lemma prefix_antisym a b : prefix a b = true -> prefix b a = true -> a = b.
Proof.
  rewrite !prefix_app. intros [x ->] [y H]. rewrite <- app_assoc in H.
  assert (x ++ y = []) as E by (apply (app_inv_head a); now rewrite app_nil_r).
  apply app_eq_nil in E as [-> _]. now rewrite app_nil_r.
Qed.

Lemma prefix_nested a b c : prefix a c = true -> prefix b c = true -> prefix a b = true \/ prefix b a = true.
Proof.
  revert b c; induction a as [|x a IH]; intros b c; simpl; auto.
  destruct c as [|z c]; try discriminate. destruct b as [|y b]; simpl; auto.
  intros H K. apply andb_true_iff in H as [E H], K as [F K].
  apply String.eqb_eq in E as ->. apply String.eqb_eq in F as ->.
  rewrite String.eqb_refl. simpl. eauto.
Qed.

Lemma same_eq a b : same a b = true <-> a = b.
Proof.
  unfold same. rewrite andb_true_iff. split.
  - intros [H K]. now apply prefix_antisym.
  - intros ->. now rewrite prefix_refl.
Qed.

Lemma scope_refl s : scope_contains s s = true.
Proof. destruct s as [p []]; unfold scope_contains; simpl; [apply prefix_refl | now apply same_eq]. Qed.

Lemma scope_trans a b c : scope_contains a b = true -> scope_contains b c = true -> scope_contains a c = true.
Proof.
  destruct a as [p []], b as [q []], c as [r []]; unfold scope_contains; simpl; try discriminate;
    try rewrite !same_eq; intros; subst; eauto using prefix_trans.
Qed.

Lemma scope_antisym a b : scope_contains a b = true -> scope_contains b a = true -> a = b.
Proof.
  destruct a as [p []], b as [q []]; unfold scope_contains; simpl; try discriminate; try rewrite !same_eq;
    intros; f_equal; auto using prefix_antisym.
Qed.

Lemma scope_nested a b c :
  scope_contains a c = true -> scope_contains b c = true -> scope_contains a b = true \/ scope_contains b a = true.
Proof.
  destruct a as [p []], b as [q []], c as [r []]; unfold scope_contains; simpl; try discriminate;
    try rewrite !same_eq; intros; subst; eauto using prefix_nested.
Qed.

Lemma everywhere_contains s : scope_contains everywhere s = true.
Proof. reflexivity. Qed.

Lemma contains_refl c : contains c c = true.
Proof. unfold contains. now rewrite prefix_refl, scope_refl. Qed.

Lemma contains_trans a b c : contains a b = true -> contains b c = true -> contains a c = true.
Proof.
  unfold contains. rewrite !andb_true_iff. intros [] []. eauto using prefix_trans, scope_trans.
Qed.

(** Scopes, and capabilities with them, are a preorder; it is one of whole labels, so no two of them say the same. *)
Theorem containment_is_a_preorder :
  (forall c, contains c c = true)
  /\ (forall a b c, contains a b = true -> contains b c = true -> contains a c = true)
  /\ (forall a b, contains a b = true -> contains b a = true -> a = b).
Proof.
  split; [exact contains_refl | split; [exact contains_trans |]].
  intros [n s] [m t]. unfold contains; simpl. rewrite !andb_true_iff. intros [] [].
  f_equal; auto using prefix_antisym, scope_antisym.
Qed.

Theorem scopes_are_nested_or_apart a b c :
  scope_contains a c = true -> scope_contains b c = true -> scope_contains a b = true \/ scope_contains b a = true.
Proof. apply scope_nested. Qed.

Lemma cap_eqb_eq a b : cap_eqb a b = true <-> a = b.
Proof.
  unfold cap_eqb. rewrite andb_true_iff. split.
  - intros []. now apply containment_is_a_preorder.
  - intros ->. now rewrite contains_refl.
Qed.

Lemma contains_touches c d : contains c d = true -> touches c d = true.
Proof. unfold contains, touches. rewrite !andb_true_iff, orb_true_iff. tauto. Qed.

Lemma milder_refl d : milder d d.
Proof. unfold milder; lia. Qed.

Lemma milder_trans a b c : milder a b -> milder b c -> milder a c.
Proof. unfold milder; lia. Qed.

Lemma is_milder_spec d e : is_milder d e = true <-> milder d e.
Proof. unfold is_milder, milder. apply Nat.leb_le. Qed.

Lemma stricter_of_spec d e f : milder (stricter_of d e) f <-> milder d f /\ milder e f.
Proof. unfold stricter_of, milder, is_milder. destruct d, e, f; simpl; lia. Qed.

Lemma strictest_spec ds f : milder (strictest ds) f <-> (forall d, In d ds -> milder d f).
Proof.
  induction ds as [|d ds IH]; simpl.
  - split; [tauto | unfold milder; simpl; lia].
  - rewrite stricter_of_spec, IH. split; [intros [] e [<-|]; auto | auto].
Qed.

Lemma strictest_le ds es : (forall d, In d ds -> exists e, In e es /\ milder d e) -> milder (strictest ds) (strictest es).
Proof.
  intros H. apply strictest_spec. intros d I. destruct (H d I) as [e [J L]].
  apply (milder_trans _ _ _ L). now apply (proj1 (strictest_spec es (strictest es)) (milder_refl _)).
Qed.

Lemma strictest_incl ds es : incl ds es -> milder (strictest ds) (strictest es).
Proof. intros H. apply strictest_le. intros d I. exists d. split; [auto | apply milder_refl]. Qed.

Lemma milder_antisym d e : milder d e -> milder e d -> d = e.
Proof. unfold milder. destruct d, e; simpl; lia || auto. Qed.

Lemma in_opinions a declared raised k c d :
  In c raised -> In d (opinions a declared raised k c) -> milder d (decide a declared raised k).
Proof.
  intros I J. unfold decide.
  apply (proj1 (strictest_spec (flat_map (opinions a declared raised k) raised) _) (milder_refl _)).
  apply in_flat_map. eauto.
Qed.

Lemma decide_le a b declared declared' raised raised' k k' :
  (forall c d, In c raised -> In d (opinions a declared raised k c) ->
     exists c' e, In c' raised' /\ In e (opinions b declared' raised' k' c') /\ milder d e) ->
  milder (decide a declared raised k) (decide b declared' raised' k').
Proof.
  intros H. apply strictest_le. intros d I. apply in_flat_map in I as [c [I J]].
  destruct (H c d I J) as [c' [e [A [B C]]]]. exists e. split; auto. apply in_flat_map. eauto.
Qed.

(** * Theorems about one decision *)

Lemma existsb_set {A} (f : A -> bool) l l' : (forall x, In x l <-> In x l') -> existsb f l = existsb f l'.
Proof.
  intros H. apply eq_true_iff_eq. rewrite !existsb_exists. split; intros [x [I J]]; exists x; split; auto; now apply H.
Qed.

Definition alike {A} (l l' : list A) : Prop := forall x, In x l <-> In x l'.

Lemma counts_alike raised raised' k source :
  alike raised raised' -> counts raised k source = counts raised' k source.
Proof. intros H. unfold counts. now rewrite (existsb_set (touches source) _ _ H). Qed.

(** Neither the order nor the number of times matters in which rules, ceilings, flows, declarations and capabilities are
    written: [decide] is the same for lists with the same elements. *)
Theorem rules_commute a b declared declared' raised raised' k :
  alike (base a) (base b) -> default a = default b -> alike (layers a) (layers b) ->
  alike (ceilings a) (ceilings b) -> alike (flows a) (flows b) -> reads a = reads b ->
  alike declared declared' -> alike raised raised' ->
  decide a declared raised k = decide b declared' raised' k.
Proof.
  assert (forall a b declared declared' raised raised',
    alike (base a) (base b) -> default a = default b -> alike (layers a) (layers b) ->
    alike (ceilings a) (ceilings b) -> alike (flows a) (flows b) -> reads a = reads b ->
    alike declared declared' -> alike raised raised' ->
    milder (decide a declared raised k) (decide b declared' raised' k)) as L.
  { clear. intros a b declared declared' raised raised' Hb Hd Hl Hc Hf Hr HD HR.
    apply decide_le. intros c d I J. exists c, d. split; [now apply HR | split; [| apply milder_refl]].
    unfold opinions in *. apply in_app_iff in J as [J|J]; apply in_app_iff.
    - left. unfold is_declared in *. rewrite (existsb_set _ _ _ HD) in J.
      destruct (negb _ && _); auto. unfold by_rules in *.
      rewrite (existsb_set _ _ _ Hb), Hd in J.
      apply in_app_iff in J as [J|J]; apply in_app_iff; [left | right; apply in_app_iff in J as [J|J]; apply in_app_iff].
      + apply in_map_iff in J as [m [<- J]]. apply in_map_iff. exists m. split; auto.
        apply filter_In in J as [J K]. apply filter_In. split; auto. now apply Hc.
      + now left.
      + right. apply in_map_iff in J as [r [<- J]]. apply in_map_iff. exists r. split; auto.
        apply filter_In in J as [J K]. apply filter_In. split; auto.
        apply in_app_iff in J. apply in_app_iff. destruct J; [left; now apply Hb | right; now apply Hl].
    - right. apply in_map_iff in J as [f [<- J]]. apply in_map_iff. exists f. split; auto.
      apply filter_In in J as [J K]. apply filter_In. split; [now apply Hf|].
      rewrite <- Hr. unfold flows_in in *. rewrite !andb_true_iff in K. rewrite !andb_true_iff.
      destruct K as [K F]. split; auto. rewrite forallb_forall in *. intros s S. rewrite <- (F s S).
      symmetry. now apply counts_alike. }
  intros. apply milder_antisym; apply L; auto; unfold alike in *; firstorder.
Qed.

(** The order of the manifest's rules does not matter either, though they replace built-in ones. *)
Theorem manifest_rules_commute m m' : alike m m' -> alike (base_rules m) (base_rules m').
Proof.
  intros H r. assert (stands m r = stands m' r) as S by (unfold stands; now rewrite (existsb_set _ _ _ H)).
  unfold base_rules. rewrite !in_app_iff, !filter_In, S. specialize (H r). tauto.
Qed.

Definition with_layer (a : authority) (r : rule) :=
  Authority (base a) (default a) (r :: layers a) (ceilings a) (flows a) (reads a).
Definition with_ceiling (a : authority) (c : ceiling) :=
  Authority (base a) (default a) (layers a) (c :: ceilings a) (flows a) (reads a).
Definition with_flow (a : authority) (f : flow) :=
  Authority (base a) (default a) (layers a) (ceilings a) (f :: flows a) (reads a).

(** An authority with more layers, ceilings and flows, and the same base. *)
Definition tighter (a b : authority) : Prop :=
  base a = base b /\ default a = default b /\ reads a = reads b
  /\ incl (layers a) (layers b) /\ incl (ceilings a) (ceilings b) /\ incl (flows a) (flows b).

Theorem tightening_never_loosens a b declared raised k :
  tighter a b -> milder (decide a declared raised k) (decide b declared raised k).
Proof.
  intros [Hb [Hd [Hr [Hl [Hc Hf]]]]]. apply decide_le. intros c d I J.
  exists c, d. split; auto. split; [| apply milder_refl].
  unfold opinions in *. apply in_app_iff in J as [J|J]; apply in_app_iff.
  - left. destruct (is_declared declared c); auto. unfold by_rules in *. rewrite <- Hb, <- Hd.
    apply in_app_iff in J as [J|J]; apply in_app_iff; [left | right; apply in_app_iff in J as [J|J]; apply in_app_iff].
    + apply in_map_iff in J as [m [<- J]]. apply in_map_iff. exists m. split; auto.
      apply filter_In in J as [J K]. apply filter_In. auto.
    + now left.
    + right. apply in_map_iff in J as [r [<- J]]. apply in_map_iff. exists r. split; auto.
      apply filter_In in J as [J K]. apply filter_In. split; auto.
      apply in_app_iff in J. apply in_app_iff. destruct J; auto.
  - right. apply in_map_iff in J as [f [<- J]]. apply in_map_iff. exists f. split; auto.
    apply filter_In in J as [J K]. apply filter_In. rewrite <- Hr. auto.
Qed.

Theorem adding_a_rule_never_loosens a r declared raised k :
  milder (decide a declared raised k) (decide (with_layer a r) declared raised k).
Proof. apply tightening_never_loosens. repeat split; simpl; auto using incl_refl, incl_tl. Qed.

Theorem adding_a_ceiling_never_loosens a c declared raised k :
  milder (decide a declared raised k) (decide (with_ceiling a c) declared raised k).
Proof. apply tightening_never_loosens. repeat split; simpl; auto using incl_refl, incl_tl. Qed.

Theorem adding_a_flow_rule_never_loosens a f declared raised k :
  milder (decide a declared raised k) (decide (with_flow a f) declared raised k).
Proof. apply tightening_never_loosens. repeat split; simpl; auto using incl_refl, incl_tl. Qed.

(** A call that raises more is never judged more mildly. *)
Theorem raising_more_never_loosens a declared raised raised' k :
  incl raised raised' -> milder (decide a declared raised k) (decide a declared raised' k).
Proof.
  intros H. apply decide_le. intros c d I J. exists c, d. split; auto. split; [| apply milder_refl].
  unfold opinions in *. apply in_app_iff in J as [J|J]; apply in_app_iff; auto. right.
  apply in_map_iff in J as [f [<- J]]. apply in_map_iff. exists f. split; auto.
  apply filter_In in J as [J K]. apply filter_In. split; auto.
  unfold flows_in in *. rewrite !andb_true_iff in *. destruct K as [K F]. split; auto.
  rewrite forallb_forall in *. intros s S. specialize (F s S). unfold counts in *.
  rewrite orb_true_iff, andb_true_iff, existsb_exists in *. destruct F as [F|[F [x [X Y]]]]; [now left |].
  right. split; auto. exists x. auto.
Qed.

(** A call that carries more labels is never judged more mildly. *)
Theorem carrying_more_never_loosens a declared raised ls ls' s :
  incl ls ls' -> milder (decide a declared raised (Carried ls s)) (decide a declared raised (Carried ls' s)).
Proof.
  intros H. apply decide_le. intros c d I J. exists c, d. split; auto. split; [| apply milder_refl].
  unfold opinions in *. apply in_app_iff in J as [J|J]; apply in_app_iff; auto. right.
  apply in_map_iff in J as [f [<- J]]. apply in_map_iff. exists f. split; auto.
  apply filter_In in J as [J K]. apply filter_In. split; auto.
  unfold flows_in in *. rewrite !andb_true_iff in *. destruct K as [K F]. split; auto.
  rewrite forallb_forall in *. intros x S. specialize (F x S). unfold counts, carries in *; simpl in *.
  rewrite orb_true_iff, existsb_exists in *. destruct F as [[y [Y Z]]|F]; eauto.
Qed.

(** A call in no ceiling's reach is blocked, and two sets of ceilings block what either does: nothing else follows. *)
Theorem ceilings_compose a cs ds declared raised k :
  let under c := Authority (base a) (default a) (layers a) c (flows a) (reads a) in
  decide (under (cs ++ ds)) declared raised k
  = stricter_of (decide (under cs) declared raised k) (decide (under ds) declared raised k).
Proof.
  intros under. apply milder_antisym.
  - apply strictest_spec. intros d I. apply in_flat_map in I as [c [I J]].
    assert (milder d (decide (under cs) declared raised k) \/ milder d (decide (under ds) declared raised k)) as [H|H].
    { unfold opinions in J. apply in_app_iff in J as [J|J].
      - destruct (is_declared declared c) eqn:D.
        + unfold by_rules in J. apply in_app_iff in J as [J|J].
          * apply in_map_iff in J as [m [<- J]]. simpl in J. apply filter_In in J as [J K].
            apply in_app_iff in J as [J|J]; [left | right]; apply (in_opinions _ _ _ _ c); auto;
              unfold opinions; rewrite D; apply in_app_iff; left; apply in_app_iff; left;
              apply in_map_iff; exists m; (split; [auto | apply filter_In; auto]).
          * left. apply (in_opinions _ _ _ _ c); auto. unfold opinions. rewrite D.
            apply in_app_iff; left. apply in_app_iff; now right.
        + left. apply (in_opinions _ _ _ _ c); auto. unfold opinions. rewrite D. apply in_app_iff; now left.
      - left. apply (in_opinions _ _ _ _ c); auto. unfold opinions. apply in_app_iff; right. exact J. }
    + apply (milder_trans _ _ _ H). unfold milder, stricter_of, is_milder.
      destruct (decide (under cs) declared raised k), (decide (under ds) declared raised k); simpl; lia.
    + apply (milder_trans _ _ _ H). unfold milder, stricter_of, is_milder.
      destruct (decide (under cs) declared raised k), (decide (under ds) declared raised k); simpl; lia.
  - apply stricter_of_spec. split; apply tightening_never_loosens; repeat split; simpl; auto using incl_refl.
    + now apply incl_appl, incl_refl.
    + now apply incl_appr, incl_refl.
Qed.

(** What runs, asked about or not, was declared and lies inside every ceiling. *)
Theorem what_runs_is_inside_every_ceiling a declared raised k c most :
  decide a declared raised k <> Blocked -> In c raised -> In most (ceilings a) ->
  is_declared declared c = true /\ admits most c = true.
Proof.
  intros H I J.
  assert (forall d, In d (opinions a declared raised k c) -> d <> Blocked) as N.
  { intros d D E. apply H. apply milder_antisym.
    - unfold milder; destruct (decide a declared raised k); simpl; lia.
    - subst. now apply (in_opinions _ _ _ _ c). }
  destruct (is_declared declared c) eqn:D.
  - split; auto. destruct (admits most c) eqn:A; auto. exfalso. apply (N Blocked); auto.
    unfold opinions. rewrite D. apply in_app_iff; left. apply in_app_iff; left.
    apply in_map_iff. exists most. split; auto. apply filter_In. now rewrite A.
  - exfalso. apply (N Blocked); auto. unfold opinions. rewrite D. apply in_app_iff; left. now left.
Qed.

(** A rule of the manifest that blocks never loosens, though it may replace a built-in one. *)
Theorem adding_a_block_to_the_manifest_never_loosens m c a declared raised k :
  let under m := Authority (base_rules m) (default a) (layers a) (ceilings a) (flows a) (reads a) in
  milder (decide (under m) declared raised k) (decide (under (Rule c Blocked :: m)) declared raised k).
Proof.
  intros under. apply decide_le. intros x d I J.
  destruct (touches c x) eqn:T.
  - (* the new rule says it itself *)
    destruct (is_declared declared x) eqn:D.
    + exists x, Blocked. split; auto. split; [| unfold milder; destruct d; simpl; lia].
      unfold opinions. rewrite D. apply in_app_iff; left. unfold by_rules.
      apply in_app_iff; right. apply in_app_iff; right. apply in_map_iff. exists (Rule c Blocked). split; auto.
      apply filter_In. split; [| exact T]. simpl. apply in_app_iff. left. unfold base_rules.
      apply in_app_iff; right. now left.
    + exists x, Blocked. split; auto. split; [| unfold milder; destruct d; simpl; lia].
      unfold opinions. rewrite D. apply in_app_iff; left. now left.
  - unfold opinions in J. apply in_app_iff in J as [J|J].
    + destruct (is_declared declared x) eqn:D.
      2: { exists x, d. split; auto. split; [| apply milder_refl]. unfold opinions. rewrite D. apply in_app_iff; now left. }
      assert (forall r, In r (base_rules m) -> applies r x = true -> says r = Allowed \/ In r (base_rules (Rule c Blocked :: m))) as S.
      { intros r R A. unfold base_rules in *. apply in_app_iff in R as [R|R].
        - apply filter_In in R as [R B].
          destruct (stands (Rule c Blocked :: m) r) eqn:K.
          + right. apply in_app_iff; left. apply filter_In; auto.
          + unfold stands in *. simpl in K. rewrite orb_false_iff in K. destruct K as [K1 K2].
            rewrite K1 in B. simpl in B. rewrite negb_false_iff, orb_true_iff in K2.
            rewrite negb_true_iff in B. rewrite B in K2. destruct K2 as [K2|]; [|discriminate].
            apply andb_true_iff in K2 as [N K2]. destruct (says r) eqn:SR; auto;
              rewrite orb_false_r in K2; exfalso;
              unfold applies in A; rewrite SR in A; unfold touches in *; rewrite andb_true_iff in A;
              destruct A as [A _]; apply same_eq in N; rewrite N in T; rewrite A in T; simpl in T;
              rewrite (scope_trans _ _ _ K2 (everywhere_contains _)) in T; discriminate.
        - right. apply in_app_iff; right. now right. }
      unfold by_rules in J.
      apply in_app_iff in J as [J|J]; [| apply in_app_iff in J as [J|J]].
      * exists x, d. split; auto. split; [| apply milder_refl]. unfold opinions. rewrite D.
        apply in_app_iff; left. apply in_app_iff; now left.
      * exists x, d. split; auto. split; [| apply milder_refl]. unfold opinions. rewrite D.
        apply in_app_iff; left. apply in_app_iff; right. apply in_app_iff; left.
        destruct (existsb _ (base (under m))) eqn:E; [destruct J|].
        replace (existsb (fun r => contains (about r) x) (base (under (Rule c Blocked :: m)))) with false; auto.
        symmetry. apply not_true_is_false. intros K. apply existsb_exists in K as [r [R C]].
        simpl in R. unfold base_rules in R. apply in_app_iff in R as [R|[R|R]].
        -- apply filter_In in R as [R B].
           assert (stands m r = true) as B'.
           { unfold stands in *. simpl in B. rewrite orb_true_iff in *. destruct B as [B|B]; auto.
             right. rewrite negb_true_iff in *. now apply orb_false_iff in B as [_ B]. }
           assert (existsb (fun r => contains (about r) x) (base (under m)) = true) as F; [| rewrite F in E; discriminate].
           apply existsb_exists. exists r. split; auto. simpl. apply in_app_iff; left. apply filter_In; auto.
        -- subst r. simpl in C. apply contains_touches in C. rewrite C in T. discriminate.
        -- assert (existsb (fun r => contains (about r) x) (base (under m)) = true) as F; [| rewrite F in E; discriminate].
           apply existsb_exists. exists r. split; auto. simpl. apply in_app_iff; now right.
      * apply in_map_iff in J as [r [<- J]]. apply filter_In in J as [J A].
        apply in_app_iff in J as [J|J].
        -- destruct (S r J A) as [E|R].
           ++ (* an `allowed` one that is withdrawn says nothing: something is said all the same *)
              rewrite E.
              assert (exists e, In e (opinions (under (Rule c Blocked :: m)) declared raised k x)) as [e Q].
              { unfold opinions. rewrite D. unfold by_rules.
                destruct (existsb (fun r => contains (about r) x) (base (under (Rule c Blocked :: m)))) eqn:F.
                - apply existsb_exists in F as [q [Q C]]. exists (says q).
                  apply in_app_iff; left. apply in_app_iff; right. apply in_app_iff; right.
                  apply in_map_iff. exists q. split; auto. apply filter_In. split; [apply in_app_iff; now left|].
                  unfold applies. destruct (says q); auto using contains_touches.
                - exists (default a). apply in_app_iff; left. apply in_app_iff; right. apply in_app_iff; left. now left. }
              exists x, e. split; auto. split; auto. unfold milder; simpl; lia.
           ++ exists x, (says r). split; auto. split; [| apply milder_refl]. unfold opinions. rewrite D.
              apply in_app_iff; left. apply in_app_iff; right. apply in_app_iff; right.
              apply in_map_iff. exists r. split; auto. apply filter_In. split; auto. apply in_app_iff; now left.
        -- exists x, (says r). split; auto. split; [| apply milder_refl]. unfold opinions. rewrite D.
           apply in_app_iff; left. apply in_app_iff; right. apply in_app_iff; right.
           apply in_map_iff. exists r. split; auto. apply filter_In. split; auto. apply in_app_iff; now right.
    + exists x, d. split; auto. split; [| apply milder_refl]. unfold opinions. apply in_app_iff; now right.
Qed.
