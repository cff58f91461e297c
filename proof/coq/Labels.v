(** The labels of runs are among those that [labels_below] says: llmdo/reach/flows.py against llmdo/runtime/gate/labelling.py. *)

From Coq Require Import String Bool Arith Lia List.
From llmdo Require Import Law Teams Flows.
Import ListNotations.
Open Scope string_scope.
Open Scope nat_scope.
Open Scope list_scope.
Open Scope bool_scope.

(** * Sets of labels *)

Lemma in_unite l a b : In l (unite a b) <-> In l a \/ In l b.
Proof.
  unfold unite. induction b as [|x b IH]; simpl; [tauto|].
  destruct (carries (fold_right _ a b) x) eqn:E.
  - apply has_in in E. split; [tauto|]. intros [H|[<-|H]]; [apply IH; auto | exact E | apply IH; auto].
  - simpl. rewrite IH. tauto.
Qed.

Lemma in_unions {A} l (f : A -> list capability) xs : In l (unions f xs) <-> exists x, In x xs /\ In l (f x).
Proof.
  unfold unions. induction xs as [|x xs IH]; simpl.
  - split; [tauto | intros [x [[] _]]].
  - rewrite in_unite, IH. split.
    + intros [H|[y [I H]]]; eauto.
    + intros [y [[<-|I] H]]; eauto.
Qed.

Lemma in_by_name {A} (l : A) n xs : In l (by_name n xs) <-> exists x, In x xs /\ fst x = n /\ In l (snd x).
Proof.
  unfold by_name. rewrite in_flat_map. split; intros [x [I H]]; exists x; split; auto.
  - destruct (String.eqb (fst x) n) eqn:E; [| destruct H]. split; auto. now apply String.eqb_eq.
  - destruct H as [<- H]. now rewrite String.eqb_refl.
Qed.

Lemma with_labels_keeps c ls files :
  (exists ms, In (c, ms) (with_labels c ls files) /\ incl ls ms)
  /\ forall d xs, In (d, xs) files -> exists ms, In (d, ms) (with_labels c ls files) /\ incl xs ms.
Proof.
  induction files as [|[d ms] files [IH1 IH2]]; simpl.
  - split; [exists ls; split; auto using incl_refl | tauto].
  - destruct (cap_eqb d c) eqn:E.
    + apply cap_eqb_eq in E as ->. split.
      * exists (unite ls ms). split; [now left|]. intros x X. apply in_unite. now left.
      * intros e xs [H|H]; [| exists xs; split; [now right | apply incl_refl]].
        injection H as <- <-. exists (unite ls ms). split; [now left|]. intros x X. apply in_unite. now right.
    + split.
      * destruct IH1 as [xs [I S]]. exists xs. split; [now right | auto].
      * intros e xs [H|H]; [injection H as <- <-; exists ms; split; [now left | apply incl_refl] |].
        destruct (IH2 e xs H) as [ys [I S]]. exists ys. split; [now right | auto].
Qed.

Lemma all_labels_keep (written : list (capability * list capability)) e ls :
  In (e, ls) written ->
  exists ms, In (e, ms) (fold_right (fun f acc => with_labels (fst f) (snd f) acc) [] written) /\ incl ls ms.
Proof.
  induction written as [|[d xs] written IH]; simpl; [tauto|].
  destruct (with_labels_keeps d xs (fold_right (fun f acc => with_labels (fst f) (snd f) acc) [] written)) as [K1 K2].
  intros [H|H]; [injection H as <- <-; exact K1|].
  destruct (IH H) as [ms [I S]]. destruct (K2 e ms I) as [ys [J T]]. exists ys. split; auto. eapply incl_tran; eauto.
Qed.

Section Labels.

Variable t : team.
Variable untrusted_input : bool.
Variable well : well_formed t.

Let nm := named t.
Let ns := names t.
Let fs := unite [] (froms_looked_for t).
Let all := all_open t.
Let first := if untrusted_input then map (fun n => (n, labels_of fs (sources t) [of_name untrusted])) (starts t) else [].

(** * What the fixed point is closed under *)

Record closed (W : string -> list capability) : Prop := {
  by_input : forall n, untrusted_input = true -> In n (starts t) ->
    (exists w cs, In (w, cs) all /\ wname w = n) -> incl (labels_of fs (sources t) [of_name untrusted]) (W n);
  by_calls : forall w cs tl row reps, In (w, cs) all -> In (tl, (row, reps)) cs ->
    incl (labels_of fs (sources t) reps) (W (wname w));
  by_files : forall w cs tl row reps v ds tl' row' reps' e e',
    In (w, cs) all -> In (tl, (row, reps)) cs -> In (v, ds) all -> In (tl', (row', reps')) ds ->
    In e (writes_of reps' (declared tl')) -> In e' (reads_of reps) -> share_a_file nm e e' = true ->
    incl (W (wname v)) (W (wname w));
  by_words : forall w cs tl, In (w, cs) all -> In tl (tools w) -> speaks tl = true ->
    incl (labels_of fs (sources t) (declared tl)) (W (wname w));
  by_toolsets : forall w cs tl v ds tl' k, In (w, cs) all -> In tl (tools w) -> keeper tl = Some k ->
    In (v, ds) all -> In tl' (tools v) -> keeper tl' = Some k -> incl (W (wname v)) (W (wname w));
  by_answers : forall w cs u ds l, In (w, cs) all -> In u (open_delegates t w) -> In (u, ds) all ->
    In l (W (wname u)) -> (forall bits, handed t [w] u = Bits bits -> is_strange l = false) -> In l (W (wname w));
  by_callers : forall w cs v ds, In (w, cs) all -> In (v, ds) all -> In w (open_delegates t v) ->
    incl (W (wname v)) (W (wname w));
}.

Let once := spread_once t nm fs all first.
Let said (s : spread) (n : string) := by_name n (of_workers s).

Lemma in_once s w cs l : In (w, cs) all ->
  In l (said s (wname w)) \/ In l (by_name (wname w) first) \/ In l (from_calls t nm fs s cs)
  \/ In l (from_toolsets t fs s w) \/ In l (from_delegates t s w) \/ In l (from_callers t all s w) ->
  In l (said (once s) (wname w)).
Proof.
  intros I H. unfold said. apply in_by_name. unfold once, spread_once. cbn [of_workers].
  eexists. split; [apply in_map_iff; exists (w, cs); split; [reflexivity | exact I] |]. simpl. split; auto.
  rewrite !in_unite. unfold mine. fold (said s (wname w)). tauto.
Qed.

Lemma labels_are_looked_for raised : incl (labels_of fs (sources t) raised) fs.
Proof. intros l L. unfold labels_of in L. now apply filter_In in L as [L _]. Qed.

Lemma everything_is_closed : closed (fun _ => fs).
Proof. split; intros; auto using labels_are_looked_for, incl_refl. Qed.

Lemma what_is_settled_is_closed s : settled s (once (once s)) = true -> closed (said s).
Proof.
  intros H.
  assert (forall w cs l, In (w, cs) all -> In l (said (once (once s)) (wname w)) -> In l (said s (wname w))) as D.
  { intros w cs l I L. unfold said in L. apply in_by_name in L as [x [X [E L]]]. unfold settled in H.
    rewrite forallb_forall in H. specialize (H x X). rewrite forallb_forall in H. specialize (H l L).
    apply has_in in H. rewrite E in H. exact H. }
  assert (forall w cs l, In (w, cs) all -> In l (said s (wname w)) -> In l (said (once s) (wname w))) as U.
  { intros w cs l I L. apply (in_once s w cs); auto. }
  split.
  - intros n T N [w [cs [I <-]]] l L. apply (D w cs l I). apply (in_once _ w cs); auto. right; left.
    apply in_by_name. exists (wname w, labels_of fs (sources t) [of_name untrusted]). repeat split; auto.
    unfold first. rewrite T. apply in_map_iff. exists (wname w). auto.
  - intros w cs tl row reps I C l L. apply (D w cs l I). apply (in_once _ w cs); auto. right; right; left.
    unfold from_calls. apply in_unions. exists (tl, (row, reps)). split; auto. apply in_app_iff. now left.
  - intros w cs tl row reps v ds tl' row' reps' e e' I C J K E E' S l L.
    apply (D w cs l I). apply (in_once _ w cs); auto. right; right; left.
    unfold from_calls. apply in_unions. exists (tl, (row, reps)). split; auto. apply in_app_iff. right.
    destruct (all_labels_keep (flat_map (fun x => flat_map (fun call =>
      map (fun u => (u, mine s (fst x))) (writes_of (snd (snd call)) (declared (fst call)))) (snd x)) all) e (mine s v))
      as [ms [M N]].
    { apply in_flat_map. exists (v, ds). split; auto. apply in_flat_map. exists (tl', (row', reps')). split; auto.
      apply in_map_iff. exists e. auto. }
    apply in_unions. exists (e, ms). split; [exact M|]. simpl.
    replace (existsb (share_a_file nm e) (reads_of reps)) with true; [now apply N|].
    symmetry. apply existsb_exists. eauto.
  - intros w cs tl I T S l L. apply (D w cs l I). apply (in_once _ w cs); auto. right; right; right; left.
    unfold from_toolsets. apply in_unions. exists tl. split; auto. rewrite S. apply in_app_iff. now left.
  - intros w cs tl v ds tl' k I T K J T' K' l L. apply (D w cs l I). apply (in_once _ w cs); auto.
    right; right; right; left. unfold from_toolsets. apply in_unions. exists tl. split; auto. rewrite K.
    apply in_app_iff. right. apply in_by_name. exists (k, mine s v). repeat split; auto.
    unfold once, spread_once. cbn [of_toolsets]. apply in_flat_map. exists (v, ds). split; auto.
    apply in_flat_map. exists tl'. split; auto. rewrite K'. now left.
  - intros w cs u ds l I O J L B. apply (D w cs l I). apply (in_once _ w cs); auto. right; right; right; right; left.
    unfold from_delegates. apply in_unions. exists u. split; auto. pose proof (U u ds l J L) as M.
    destruct (handed t [w] u) eqn:E; auto. apply filter_In. split; auto. now rewrite (B most).
  - intros w cs v ds I J O l L. apply (D w cs l I). apply (in_once _ w cs); auto. right; right; right; right; right.
    unfold from_callers. apply in_unions. exists (v, ds). split; auto. simpl.
    replace (existsb _ (open_delegates t v)) with true; [exact (U v ds l J L)|].
    symmetry. apply existsb_exists. exists w. split; auto. apply String.eqb_refl.
Qed.

Lemma spreading_ends fuel : forall s, exists W, closed W
  /\ forall w cs, In (w, cs) all -> incl (W (wname w)) (said (spreading t nm fs all first fuel s) (wname w)).
Proof.
  induction fuel as [|fuel IH]; intros s; simpl.
  - exists (fun _ => fs). split; [apply everything_is_closed|]. intros w cs I l L. apply in_by_name.
    exists (wname w, fs). repeat split; auto. simpl. apply in_map_iff. exists (w, cs). auto.
  - change (spread_once t nm fs all first) with once. destruct (settled s (once (once s))) eqn:E; [| apply IH].
    exists (said s). split; [now apply what_is_settled_is_closed|].
    intros w cs I l L. apply (in_once _ w cs); auto. left. apply (in_once _ w cs); auto.
Qed.

Lemma labels_below_is_closed : exists W, closed W
  /\ forall w cs, In (w, cs) all -> incl (W (wname w)) (by_name (wname w) (of_workers (labels_below t untrusted_input))).
Proof. apply spreading_ends. Qed.

(** * Calls of runs, and those that stand for them *)

Lemma is_open p w :
  (exists d, comes t p d) -> caller p = Some w -> In (w, open_calls t nm ns w) all.
Proof.
  intros [d C] P. destruct (comes_by_a_way t p d well C) as [g [G _]].
  assert (In w (workers t)) as I.
  { apply (comes_incl t p d C). unfold caller in P. destruct p; [discriminate|]. injection P as ->. now left. }
  unfold all, all_open. apply in_map_iff.
  set (ds := flat_map (fun x : way * decision => match caller (fst x) with
                             | Some v => if String.eqb (wname v) (wname w) then [snd x] else []
                             | None => []
                             end) (all_ways t)).
  assert (In g ds) as D.
  { apply in_flat_map. exists (p, g). split; auto. cbn [fst snd]. rewrite P, String.eqb_refl. now left. }
  destruct ds as [|e ds'] eqn:E; [destruct D|]. exists (w, fold_right milder_of e ds'). split; auto.
  unfold found_workers. apply in_flat_map. exists w. split; auto. fold ds. rewrite E. now left.
Qed.

(** A call that the gate lets through in some run. *)
Definition made (p : way) (w : worker) (tl : tool) (raised : list capability) (k : carried) : Prop :=
  (exists d, comes t p d) /\ caller p = Some w /\ In tl (tools w) /\ possible tl raised
  /\ decide_in t p tl raised k <> Blocked.

Lemma is_worker p w : (exists d, comes t p d) -> caller p = Some w -> In w (workers t).
Proof.
  intros [d C] P. apply (comes_incl t p d C). unfold caller in P. destruct p; [discriminate|]. injection P as ->. now left.
Qed.

Lemma alone_is_tighter p w : caller p = Some w -> tighter (authority_of t [w]) (authority_of t p).
Proof.
  intros P. destruct p as [|v p]; [discriminate|]. injection P as ->.
  unfold tighter. repeat split; simpl; auto using incl_refl.
  intros m M. apply (in_ceilings_of (entry t :: map restricts [w])) in M as [l [L E]].
  apply (in_ceilings_of (entry t :: map restricts (w :: p))). exists l. split; auto.
  simpl in *. intuition.
Qed.

(** [i] stands for [c] where [c] touches [f], which may be a file. *)
Definition stands_at (i c : capability) (f : scope) : Prop :=
  prefix (cname i) (cname c) = true
  /\ (cname c <> [] -> cname i <> [])
  /\ (forall p, known t p -> prefix (cname p) (cname c) = true -> prefix (cname p) (cname i) = true)
  /\ (forall p, known t p -> prefix (cname p) (cname c) = true -> scope_contains (cscope p) f = true -> touches p i = true)
  /\ (prefix delegate (cname c) = false ->
      scope_contains (whole (cscope i)) f = true
      /\ (is_fresh (cscope i) = true -> forall q, In q nm -> prefix (cname q) (cname i) = true ->
            scope_contains (cscope q) f = true -> scope_contains (cscope q) (whole (cscope i)) = true)).

Lemma fresh_is_in s : is_fresh s = true -> In fresh (path s).
Proof.
  unfold is_fresh. rewrite andb_true_iff. intros [_ E]. apply String.eqb_eq in E.
  destruct (path s) as [|x q] using rev_ind; [discriminate|]. rewrite last_last in E. subst.
  apply in_app_iff. right. now left.
Qed.

Lemma whole_of_stale s : ~ In fresh (path s) -> whole s = s /\ is_fresh s = false.
Proof.
  intros N. assert (is_fresh s = false) as F by (apply not_true_is_false; intros E; now apply N, fresh_is_in).
  unfold whole. now rewrite F.
Qed.

Lemma whole_instance u : ~ In fresh (path u) -> whole (instance u) = u.
Proof.
  intros N. destruct u as [q []]; simpl; [| now apply whole_of_stale].
  unfold whole, instance, is_fresh; simpl. rewrite last_last. simpl. now rewrite removelast_last.
Qed.

Lemma stands_for_itself_at c f :
  ~ In fresh (path (cscope c)) -> scope_contains (cscope c) f = true -> stands_at c c f.
Proof.
  intros N C. destruct (whole_of_stale _ N) as [H F]. repeat split; auto using prefix_refl.
  - intros p K P S. unfold touches. rewrite P. simpl. apply orb_true_iff. now apply (scope_nested _ _ f).
  - now rewrite H.
  - congruence.
Qed.

Lemma narrowed_stands_at w tl d c f :
  In w (workers t) -> In tl (tools w) -> In d (declared tl) -> contains d c = true ->
  scope_contains (cscope c) f = true ->
  exists row i, In (row, i) (narrowed nm ns d) /\ stands_for t i c /\ contains d i = true /\ stands_at i c f.
Proof.
  intros W T D C F. destruct (wf_declared t well w tl d W T D) as [DN DF].
  destruct (represented_at t d c f well C F) as [n [u [I [NC [DNn [DU [UF [UK [NM [SM S]]]]]]]]]].
  assert (~ In fresh (path u)) as FU by (destruct UK as [->|[p [P ->]]]; auto; now apply (wf_fresh t well)).
  exists (Cap n u), (Cap n (instance u)). split; [exact I | split; [exact S | split]].
  { apply contains_split. simpl. split; auto. eapply scope_trans; eauto using instance_inside. }
  split; [exact NC | split; [| split; [exact NM | split]]].
  - intros _ E. simpl in E. subst n. destruct (cname d); [congruence | discriminate].
  - intros p K P Q. apply contains_touches. apply contains_split. simpl. split; [now apply NM|].
    eapply scope_trans; [| apply instance_inside]. now apply SM.
  - intros _. simpl. rewrite whole_instance; auto. split; auto. intros _ q Q P R. apply SM; auto; [now left|].
    eapply prefix_trans; eauto.
Qed.

(** Each call that some run makes is stood for by one that [labels_below] looks at. *)
Lemma stood_for p w tl raised k c f :
  made p w tl raised k -> In c raised -> scope_contains (cscope c) f = true ->
  exists row reps i, In (tl, (row, reps)) (open_calls t nm ns w) /\ In i reps /\ stands_at i c f.
Proof.
  intros [C [P [T [Q N]]]] I F. pose proof (is_worker p w C P) as W.
  assert (forall x, In x raised -> is_declared (declared tl) x = true) as DD.
  { intros x X. destruct (is_declared (declared tl) x) eqn:D; auto. exfalso. apply N. apply milder_antisym.
    - unfold milder; destruct (decide_in _ _ _ _ _); simpl; lia.
    - unfold decide_in. apply (in_opinions _ _ _ _ x); auto. unfold opinions. rewrite D. apply in_app_iff; left. now left. }
  assert (exists row reps i, In (row, reps) (calls nm ns tl) /\ In i reps /\ stands_at i c f
          /\ forall j, In j reps -> is_declared (declared tl) j = true /\ exists x, In x raised /\ stands_for t j x)
    as [row [reps [i [B [R [S H]]]]]].
  { destruct Q as [QU Q].
    assert (exists d row i, In d (declared tl) /\ contains d c = true /\ In (row, i) (narrowed nm ns d)
              /\ is_declared (declared tl) i = true /\ stands_for t i c /\ stands_at i c f)
      as [d [row [i [D1 [D2 [R1 [R2 [R3 R4]]]]]]]].
    { pose proof (DD c I) as D. unfold is_declared in D. apply andb_true_iff in D as [D1 D2].
      apply existsb_exists in D2 as [d [D2 D3]].
      destruct (narrowed_stands_at w tl d c f W T D2 D3 F) as [row [i [R1 [R2 [R3 R4]]]]].
      exists d, row, i. split; [exact D2 | split; [exact D3 | split; [exact R1 | split; [| split; [exact R2 | exact R4]]]]].
      unfold is_declared. apply andb_true_iff. split.
      - rewrite negb_true_iff in *. apply not_true_iff_false. intros E. apply not_true_iff_false in D1. apply D1.
        apply same_eq in E. apply same_eq. apply QU; auto. rewrite <- E. apply (sf_name t i c R2).
      - apply existsb_exists. eauto. }
    unfold calls. destruct (kind_of tl) as [| | v] eqn:K.
    - subst raised. exists c, (declared tl), c. split; [apply in_map_iff; eauto | split; [exact I | split]].
      + apply stands_for_itself_at; auto. now apply (wf_declared t well w tl).
      + intros j J. split; auto. exists j. auto using stands_for_itself.
    - exists row, [i], i. split; [| split; [now left | split; [exact R4|]]].
      + apply in_map_iff. exists (row, i). split; auto. apply in_flat_map. eauto.
      + intros j [<-|[]]. eauto.
    - destruct Q as [Q1 Q2]. destruct (calls_a_worker t v well) as [CR CS].
      assert (is_declared (declared tl) (instance_of (call_row nm v)) = true) as CD.
      { pose proof (wf_calls t well w tl v W T K) as D. unfold is_declared, call_row. apply andb_true_iff.
        destruct (is_called nm v); split; try reflexivity; apply existsb_exists; exists (of_name delegate); auto. }
      destruct (Q2 c I) as [->|NC].
      + exists (call_row nm v), [instance_of (call_row nm v)], (instance_of (call_row nm v)).
        split; [now left | split; [now left | split; [| intros j [<-|[]]; eauto]]].
        assert (cname (instance_of (call_row nm v)) = delegate) as E by (unfold call_row; now destruct (is_called nm v)).
        assert (f = Scope [v] false) as ->.
        { unfold scope_contains in F. simpl in F. apply andb_true_iff in F as [F1 F2]. rewrite negb_true_iff in F1.
          destruct f as [q b]. simpl in *. subst b. destruct q as [|x q]; [discriminate|].
          apply (same_eq [v] (x :: q)) in F2. now rewrite F2. }
        split; [now rewrite E | split; [now rewrite E | split; [intros p0 _ X; now rewrite E | split]]].
        * intros p0 K0 X Y. apply contains_touches. apply (sf_contains t _ _ CS); auto. now apply contains_split.
        * simpl. discriminate.
      + exists row, [i; instance_of (call_row nm v)], i. split; [| split; [now left | split; [exact R4|]]].
        * right. apply in_map_iff. exists (row, i). split; auto. apply in_flat_map. exists d. split; auto.
          apply filter_In. split; auto. rewrite negb_true_iff. apply not_true_iff_false. intros E.
          apply cap_eqb_eq in E. subst d. apply contains_split in D2 as [D2 _]. simpl cname in D2. congruence.
        * intros j [<-|[<-|[]]]; eauto. }
  exists row, reps, i. split; [| split; auto].
  unfold open_calls. apply in_flat_map. exists tl. split; auto. apply in_map_iff. exists (row, reps). split; auto.
  apply filter_In. split; auto. simpl. rewrite negb_true_iff.
  assert (milder (decide (authority_of t [w]) (declared tl) reps nothing) (decide_in t p tl raised k)) as L.
  { apply milder_trans with (decide (authority_of t [w]) (declared tl) raised k).
    - apply (represented_is_no_stricter t); auto. apply authority_is_of_team. intros x [<-|[]]. exact W.
    - apply tightening_never_loosens. now apply alone_is_tighter. }
  destruct (decide (authority_of t [w]) (declared tl) reps nothing); auto. exfalso. apply N.
  destruct (decide_in t p tl raised k); unfold milder in L; simpl in L; auto; lia.
Qed.

(** * Labels of what a call reads *)

Definition touched_at (s u : scope) : scope := if scope_contains s u then u else s.

Lemma touched_at_both s u : meets s u = true ->
  scope_contains s (touched_at s u) = true /\ scope_contains u (touched_at s u) = true.
Proof.
  unfold meets, touched_at. rewrite orb_true_iff. destruct (scope_contains s u) eqn:E; auto using scope_refl.
  intros [H|H]; [discriminate|]. auto using scope_refl.
Qed.

Lemma touches_at p c : touches p c = true ->
  prefix (cname p) (cname c) = true /\ scope_contains (cscope p) (touched_at (cscope p) (cscope c)) = true
  /\ scope_contains (cscope c) (touched_at (cscope p) (cscope c)) = true.
Proof.
  unfold touches. rewrite andb_true_iff. intros [H1 H2]. split; auto. now apply touched_at_both.
Qed.

Lemma does_anything_too i c f : stands_at i c f -> does_anything c = true -> does_anything i = true.
Proof.
  intros [S1 [S2 _]] D. unfold does_anything in *. rewrite andb_true_iff, negb_true_iff in *. destruct D as [D1 D2]. split.
  - destruct (cname i) as [|x n] eqn:E.
    + exfalso. apply S2; auto. intros X. rewrite X in D1. discriminate.
    + destruct (cname c) as [|y m]; [discriminate|]. simpl in *.
      rewrite !andb_true_iff in *. destruct S1 as [X _], D1 as [Y _].
      apply String.eqb_eq in X. subst x. split; [exact Y | reflexivity].
  - apply not_true_is_false. intros X. apply not_true_iff_false in D2. apply D2. eapply prefix_trans; eauto.
Qed.

(** What [reading] has besides the labels of `[sources]`. *)
Definition read_only (raised : list capability) : list capability :=
  raised ++ (if existsb does_anything raised then [of_name ["fs"; "read"]] else []).
Definition asked_about (raised : list capability) : list capability :=
  read_only raised ++ map (fun c => Cap ["fs"; "read"] (cscope c))
                          (filter (fun c => same (cname c) ["fs"; "list"]) (read_only raised)).

Lemma in_reading raised x : In x (reading (sources t) raised) <->
  In x (read_only raised)
  \/ exists s, In s (sources t) /\ snd s = x /\ exists y, In y (asked_about raised) /\ touches (fst s) y = true.
Proof.
  unfold reading. fold (read_only raised). fold (asked_about raised). rewrite in_app_iff, in_map_iff.
  split; (intros [H|H]; [now left | right]).
  - destruct H as [s [<- H]]. apply filter_In in H as [H1 H2]. apply existsb_exists in H2. eauto.
  - destruct H as [s [H1 [<- H2]]]. exists s. split; auto. apply filter_In. split; auto. now apply existsb_exists.
Qed.

(** A capability that the team names is touched by what stands for a call, where it is touched by the call. *)
Lemma touched_too p w tl raised k q y :
  made p w tl raised k -> In q nm ->
  (prefix (cname q) ["fs"; "read"] = true -> In (Cap ["fs"; "list"] (cscope q)) nm) ->
  In y (asked_about raised) -> touches q y = true ->
  exists row reps z, In (tl, (row, reps)) (open_calls t nm ns w) /\ In z (asked_about reps) /\ touches q z = true.
Proof.
  intros M Q L Y T. unfold asked_about in Y. apply in_app_iff in Y as [Y|Y].
  - unfold read_only in Y. apply in_app_iff in Y as [Y|Y].
    + destruct (touches_at q y T) as [T1 [T2 T3]].
      destruct (stood_for p w tl raised k y _ M Y T3) as [row [reps [i [O [I S]]]]].
      exists row, reps, i. split; auto. split; [| now apply S; auto; left].
      unfold asked_about, read_only. rewrite !in_app_iff. auto.
    + destruct (existsb does_anything raised) eqn:E; [| destruct Y]. destruct Y as [<-|[]].
      apply existsb_exists in E as [c [C D]].
      destruct (stood_for p w tl raised k c _ M C (scope_refl _)) as [row [reps [i [O [I S]]]]].
      exists row, reps, (of_name ["fs"; "read"]). split; auto. split; auto.
      unfold asked_about, read_only. rewrite !in_app_iff. left. right.
      replace (existsb does_anything reps) with true; [now left|]. symmetry. apply existsb_exists. exists i. split; auto.
      eapply does_anything_too; eauto.
  - apply in_map_iff in Y as [c [<- Y]]. apply filter_In in Y as [Y E]. apply same_eq in E.
    assert (In c raised) as C.
    { unfold read_only in Y. apply in_app_iff in Y as [Y|Y]; auto. destruct (existsb does_anything raised); [| destruct Y].
      destruct Y as [<-|[]]. discriminate. }
    destruct (touches_at _ _ T) as [T1 [T2 T3]]. cbn [cname cscope] in *.
    destruct (stood_for p w tl raised k c _ M C T3) as [row [reps [i [O [I S]]]]].
    destruct S as [S1 [_ [S3 [S4 _]]]].
    assert (cname i = ["fs"; "list"]) as N.
    { apply prefix_antisym; [now rewrite <- E|].
      apply (S3 (Cap ["fs"; "list"] (cscope q))); [left; auto | simpl; rewrite E; reflexivity]. }
    pose proof (S4 (Cap ["fs"; "list"] (cscope q)) (or_introl (L T1))) as X. simpl in X.
    rewrite E in X. specialize (X eq_refl T2).
    exists row, reps, (Cap ["fs"; "read"] (cscope i)). split; auto. split.
    + unfold asked_about. apply in_app_iff. right. apply in_map_iff. exists i. split; auto. apply filter_In.
      split; [unfold read_only; apply in_app_iff; now left | rewrite N; reflexivity].
    + unfold touches in *. simpl in *. rewrite andb_true_iff in *. destruct X as [_ X]. auto.
Qed.

Lemma source_is_named s : In s (sources t) ->
  In (fst s) nm /\ (prefix (cname (fst s)) ["fs"; "read"] = true -> In (Cap ["fs"; "list"] (cscope (fst s))) nm).
Proof.
  intros S. unfold nm, named. rewrite !in_app_iff, !in_map_iff. split.
  - right; right; right; left. eauto.
  - intros P. right; right; right; right. exists s. split; auto. apply filter_In. auto.
Qed.

Lemma from_is_named l : In l (all_froms t) -> In l nm.
Proof.
  intros L. unfold all_froms in L. apply in_flat_map in L as [f [F L]].
  unfold nm, named. rewrite !in_app_iff. right; right; left. apply in_flat_map. exists f. split; auto. now right.
Qed.

Lemma from_is_looked_for l : In l (all_froms t) -> In l fs.
Proof. intros L. unfold fs. apply in_unite. right. now right. Qed.

Lemma labels_are_found W p w tl raised k :
  closed W -> made p w tl raised k -> incl (labels_of (all_froms t) (sources t) raised) (W (wname w)).
Proof.
  intros CW M l L. unfold labels_of in L. apply filter_In in L as [L H]. apply existsb_exists in H as [x [X T]].
  assert (exists row reps y, In (tl, (row, reps)) (open_calls t nm ns w) /\ In y (reading (sources t) reps)
          /\ touches l y = true) as [row [reps [y [O [Y T']]]]].
  { apply in_reading in X as [X|[s [S [<- [y [Y Q]]]]]].
    - unfold read_only in X. apply in_app_iff in X as [X|X].
      + destruct (touches_at l x T) as [T1 [T2 T3]].
        destruct (stood_for p w tl raised k x _ M X T3) as [row [reps [i [O [I S]]]]].
        exists row, reps, i. split; auto. split; [| apply S; [left; now apply from_is_named | exact T1 | exact T2]].
        apply in_reading. left. unfold read_only. rewrite in_app_iff. auto.
      + destruct (existsb does_anything raised) eqn:E; [| destruct X]. destruct X as [<-|[]].
        apply existsb_exists in E as [c [C D]].
        destruct (stood_for p w tl raised k c _ M C (scope_refl _)) as [row [reps [i [O [I S]]]]].
        exists row, reps, (of_name ["fs"; "read"]). split; auto. split; auto.
        apply in_reading. left. unfold read_only. rewrite in_app_iff. right.
        replace (existsb does_anything reps) with true; [now left|]. symmetry. apply existsb_exists. exists i. split; auto.
        eapply does_anything_too; eauto.
    - destruct (source_is_named s S) as [N1 N2].
      destruct (touched_too p w tl raised k (fst s) y M N1 N2 Y Q) as [row [reps [z [O [Z R]]]]].
      exists row, reps, (snd s). split; auto. split; auto. apply in_reading. right. exists s. eauto. }
  destruct M as [C [P _]].
  apply (by_calls W CW w _ tl row reps (is_open p w C P) O). unfold labels_of. apply filter_In.
  split; [now apply from_is_looked_for|]. apply existsb_exists. eauto.
Qed.

(** * Files that one call writes and another one reads *)

(** [e] says that a file of [f] is read or written. *)
Definition holds (e : capability) (f : scope) : Prop :=
  scope_contains (whole (cscope e)) f = true
  /\ (is_fresh (cscope e) = true -> forall q, In q nm -> prefix (cname q) (cname e) = true ->
        scope_contains (cscope q) f = true -> scope_contains (cscope q) (whole (cscope e)) = true).

Lemma holds_everywhere n f : holds (Cap n everywhere) f.
Proof. split; [reflexivity | discriminate]. Qed.

Lemma they_share e e' f : holds e f -> holds e' f -> share_a_file nm e e' = true.
Proof.
  intros [H1 H2] [K1 K2]. unfold share_a_file. cbv zeta.
  set (s := whole (cscope e)) in *. set (u := whole (cscope e')) in *.
  assert (forall x, In x nm -> ~ In fresh (path (cscope x))) as NF by apply (wf_fresh t well).
  assert (forall c v, (v = s \/ v = u) -> holds c f -> scope_contains (whole (cscope c)) v = true ->
            represents nm c (instance v) = true) as R.
  { intros c v V [C1 C2] CV. unfold represents. cbv zeta. apply andb_true_iff. split.
    - eapply scope_trans; eauto using instance_inside.
    - apply negb_true_iff, not_true_is_false. intros X. apply andb_true_iff in X as [X1 X2].
      apply existsb_exists in X2 as [q [Q X2]]. rewrite !andb_true_iff, negb_true_iff in X2.
      destruct X2 as [[[Y1 Y2] Y3] Y4]. rewrite (C2 X1 q Q Y1) in Y3; [discriminate|].
      apply contains_instance in Y4; auto. eapply scope_trans; [exact Y4|]. destruct V as [->| ->]; auto. }
  rewrite !andb_true_iff. unfold meets. rewrite orb_true_iff.
  destruct (scope_contains s u) eqn:E.
  - repeat split; auto; apply R; unfold holds; auto using scope_refl.
  - assert (scope_contains u s = true) as U by (destruct (scope_nested _ _ _ H1 K1); congruence).
    repeat split; auto; apply R; unfold holds; auto using scope_refl.
Qed.

Definition is_by (ks : list name) (c : capability) : bool :=
  existsb (fun n => prefix n (cname c) || prefix (cname c) n) ks.

Lemma in_scopes_by ks cs u : In u (scopes_by ks cs) <-> exists c, In c cs /\ is_by ks c = true /\ cscope c = u.
Proof.
  unfold scopes_by. rewrite in_map_iff. split; intros [c H]; exists c.
  - destruct H as [H1 H2]. apply filter_In in H2 as [H2 H3]. auto.
  - destruct H as [H1 [H2 H3]]. split; auto. apply filter_In. auto.
Qed.

Lemma is_by_wider ks i c : prefix (cname i) (cname c) = true -> is_by ks c = true -> is_by ks i = true.
Proof.
  intros P. unfold is_by. rewrite !existsb_exists. intros [n [N H]]. exists n. split; auto.
  rewrite orb_true_iff in *. destruct H as [H|H].
  - now apply (prefix_nested _ _ (cname c)).
  - right. eapply prefix_trans; eauto.
Qed.

Lemma is_no_delegation ks c :
  (forall n, In n ks -> exists x m, n = "fs" :: x :: m) -> is_by ks c = true -> prefix delegate (cname c) = false.
Proof.
  intros K H. apply not_true_is_false. intros D. unfold is_by in H. apply existsb_exists in H as [n [N H]].
  destruct (K n N) as [x [m ->]]. apply prefix_app in D as [q D]. rewrite D in H. discriminate.
Qed.

Lemma stands_holds i c f : stands_at i c f -> prefix delegate (cname c) = false -> holds i f.
Proof. intros S D. now apply S. Qed.

Lemma what_is_read p w tl raised k v f :
  made p w tl raised k -> In v (read_scopes raised) -> scope_contains v f = true ->
  exists row reps e, In (tl, (row, reps)) (open_calls t nm ns w) /\ In e (reads_of reps) /\ holds e f.
Proof.
  intros M V F. unfold read_scopes in V.
  assert (forall c g, In c raised -> scope_contains (cscope c) g = true ->
            does_anything c = true \/ (is_by [["fs"; "read"]; ["fs"; "list"]] c = true /\ g = f) ->
            exists row reps e, In (tl, (row, reps)) (open_calls t nm ns w) /\ In e (reads_of reps) /\ holds e f) as X.
  { intros c g C G H. destruct (stood_for p w tl raised k c g M C G) as [row [reps [i [O [I S]]]]].
    exists row, reps. destruct (does_anything i) eqn:D.
    - exists (Cap (cname i) everywhere). split; auto. split; [| apply holds_everywhere].
      unfold reads_of. apply in_flat_map. exists i. split; auto. unfold read_scopes. simpl. rewrite D. now left.
    - destruct H as [H|[H ->]]; [rewrite (does_anything_too i c g S H) in D; discriminate|].
      exists i. split; auto. split.
      + unfold reads_of. apply in_flat_map. exists i. split; auto. apply in_map_iff. exists (cscope i).
        split; [now destruct i|]. unfold read_scopes. simpl. rewrite D. simpl. apply in_scopes_by. exists i.
        split; [now left | split; auto]. exact (is_by_wider _ i c (proj1 S) H).
      + apply (stands_holds i c f S). apply (is_no_delegation [["fs"; "read"]; ["fs"; "list"]]); auto.
        intros n [<-|[<-|[]]]; eauto. }
  destruct (existsb does_anything raised) eqn:E.
  - apply existsb_exists in E as [c [C D]]. apply (X c (cscope c)); auto using scope_refl.
  - apply in_scopes_by in V as [c [C [B <-]]]. apply (X c f); auto.
Qed.

Definition writing := [["fs"; "write"]; ["fs"; "delete"]].

Lemma what_is_written p w tl raised k u f :
  made p w tl raised k -> (forall v, kind_of tl <> Calls v) ->
  In u (written_scopes raised (declared tl)) -> scope_contains u f = true ->
  exists row reps e, In (tl, (row, reps)) (open_calls t nm ns w) /\ In e (writes_of reps (declared tl)) /\ holds e f.
Proof.
  intros M NK U F. pose proof M as [C0 [P0 [T0 [Q0 N0]]]]. pose proof (is_worker p w C0 P0) as W0.
  assert (forall c g, In c raised -> scope_contains (cscope c) g = true ->
            does_anything c = true \/ (is_by writing c = true /\ g = f /\ exists d, In d (declared tl) /\ is_by writing d = true
                                       /\ scope_contains (cscope d) f = true) ->
            exists row reps e, In (tl, (row, reps)) (open_calls t nm ns w) /\ In e (writes_of reps (declared tl)) /\ holds e f)
    as X.
  { intros c g C G H. destruct (stood_for p w tl raised k c g M C G) as [row [reps [i [O [I S]]]]].
    exists row, reps. unfold writes_of. destruct (does_anything i) eqn:D.
    - exists (Cap (cname i) everywhere). split; auto. split; [| apply holds_everywhere].
      apply in_flat_map. exists i. split; auto. unfold written_scopes. simpl. rewrite D. now left.
    - destruct H as [H|[H [-> [d [D1 [D2 D3]]]]]]; [rewrite (does_anything_too i c g S H) in D; discriminate|].
      assert (is_by writing i = true) as B by (exact (is_by_wider _ i c (proj1 S) H)).
      destruct (scope_contains (cscope i) everywhere) eqn:E.
      + exists (Cap (cname i) (cscope d)). split; auto. split.
        * apply in_flat_map. exists i. split; auto. apply in_map. unfold written_scopes. simpl. rewrite D. simpl.
          fold writing. replace (existsb _ (scopes_by writing [i])) with true; [apply in_scopes_by; eauto|].
          symmetry. apply existsb_exists. exists (cscope i). split; auto. apply in_scopes_by. exists i. split; auto. now left.
        * destruct (whole_of_stale (cscope d)) as [Y1 Y2]; [now apply (wf_declared t well w tl)|].
          split; simpl; [now rewrite Y1 | congruence].
      + exists i. split; auto. split.
        * apply in_flat_map. exists i. split; auto. apply in_map_iff. exists (cscope i). split; [now destruct i|].
          unfold written_scopes. simpl. rewrite D. simpl. fold writing.
          replace (existsb _ (scopes_by writing [i])) with false; [apply in_scopes_by; exists i; split; auto; now left|].
          symmetry. apply not_true_is_false. intros Y. apply existsb_exists in Y as [s [Y1 Y2]].
          apply in_scopes_by in Y1 as [j [[<-|[]] [_ <-]]]. congruence.
        * apply (stands_holds i c f S). apply (is_no_delegation writing); auto. intros n [<-|[<-|[]]]; eauto. }
  unfold written_scopes in U. fold writing in U. cbv zeta in U. destruct (existsb does_anything raised) eqn:E.
  - apply existsb_exists in E as [c [C D]]. apply (X c (cscope c)); auto using scope_refl.
  - destruct (existsb (fun s => scope_contains s everywhere) (scopes_by writing raised)) eqn:A.
    + apply existsb_exists in A as [s [A1 A2]]. apply in_scopes_by in A1 as [c [C [B <-]]].
      apply in_scopes_by in U as [d [D1 [D2 <-]]].
      apply (X c f); auto; [| right; repeat split; eauto].
      eapply scope_trans; [exact A2 | apply everywhere_contains].
    + apply in_scopes_by in U as [c [C [B <-]]]. apply (X c f); auto. right. split; auto. split; auto.
      assert (is_declared (declared tl) c = true) as D.
      { destruct (is_declared (declared tl) c) eqn:D; auto. exfalso. apply N0. apply milder_antisym.
        - unfold milder; destruct (decide_in _ _ _ _ _); simpl; lia.
        - unfold decide_in. apply (in_opinions _ _ _ _ c); auto. unfold opinions. rewrite D. apply in_app_iff; left. now left. }
      unfold is_declared in D. apply andb_true_iff in D as [_ D]. apply existsb_exists in D as [d [D1 D2]].
      apply contains_split in D2 as [D2 D3]. exists d. split; auto. split; [eapply is_by_wider; eauto|].
      eapply scope_trans; eauto.
Qed.

(** * Runs *)

Variable W : string -> list capability.
Variable whole_W : closed W.

(** Whatever carries labels carries none but those of a worker. *)
Record within (s : state) : Prop := {
  in_contexts : forall i c, contexts s i = Some c ->
    exists w, (exists d, comes t (at_way c) d) /\ caller (at_way c) = Some w
      /\ incl (context_labels c) (W (wname w)) /\ forall y, In y (seals c) -> incl (seal_labels y) (W (wname w));
  in_parents : forall j d i, contexts s j = Some d -> parent d = Some i ->
    exists c w u, contexts s i = Some c /\ caller (at_way c) = Some w /\ at_way d = u :: at_way c
      /\ In u (open_delegates t w);
  in_pending : forall x, In x (pending s) ->
    exists c w, contexts s (by_context x) = Some c /\ caller (at_way c) = Some w /\ In (with_tool x) (tools w)
      /\ possible (with_tool x) (raises x) /\ incl (under x) (W (wname w))
      /\ forall y, In y (sealed_in x) -> incl (seal_labels y) (W (wname w));
  in_files : forall u r ls, In (u, (r, ls)) (files s) ->
    exists p w tl raised k, made p w tl raised k /\ (forall v, kind_of tl <> Calls v)
      /\ In u (written_scopes raised (declared tl)) /\ incl ls (W (wname w));
  in_kept : forall k r ls, In (k, (r, ls)) (kept s) ->
    exists p w tl, (exists d, comes t p d) /\ caller p = Some w /\ In tl (tools w) /\ keeper tl = Some k
      /\ incl ls (W (wname w));
}.

Lemma judged_is_made s x c w :
  within s -> In x (pending s) -> contexts s (by_context x) = Some c -> caller (at_way c) = Some w ->
  judged t (at_way c) x <> Blocked -> made (at_way c) w (with_tool x) (raises x) (carried_by x).
Proof.
  intros S P C K J. destruct (in_pending s S x P) as [c' [w' [C' [K' [T [Q _]]]]]].
  rewrite C in C'. injection C' as <-. rewrite K in K'. injection K' as <-.
  destruct (in_contexts s S _ c C) as [w' [D _]].
  split; auto. split; auto. split; auto. split; auto. intros B. apply J. unfold judged. rewrite B.
  unfold stricter_of, is_milder. now destruct (in_targets x).
Qed.

Lemma after_is_within s x c w :
  within s -> In x (pending s) -> contexts s (by_context x) = Some c -> caller (at_way c) = Some w ->
  judged t (at_way c) x <> Blocked -> incl (labels_after t s x) (W (wname w)).
Proof.
  intros S P C K J. pose proof (judged_is_made s x c w S P C K J) as M.
  destruct (in_pending s S x P) as [c' [w' [C' [K' [T [_ [U Y]]]]]]].
  rewrite C in C'. injection C' as <-. rewrite K in K'. injection K' as <-.
  pose proof M as [D _]. pose proof (is_open _ w D K) as A.
  intros l L. unfold labels_after in L. rewrite !in_app_iff in L. destruct L as [L|[L|[L|[L|L]]]].
  - auto.
  - apply in_flat_map in L as [y [I L]]. now apply (Y y I).
  - now apply (labels_are_found W _ w _ _ _ whole_W M).
  - apply in_flat_map in L as [[r ls] [I L]]. unfold files_read in I. apply in_map_iff in I as [[u f] [E I]].
    simpl in E. subst f. apply filter_In in I as [I R]. apply existsb_exists in R as [v [V R]]. cbn [fst] in R.
    destruct (in_files s S u r ls I) as [p [w' [tl [raised [k [M' [NK [B Z]]]]]]]].
    destruct (touched_at_both _ _ R) as [F1 F2].
    destruct (what_is_written p w' tl raised k u _ M' NK B F1) as [row' [reps' [e [O' [E H]]]]].
    destruct (what_is_read _ w _ _ _ v _ M V F2) as [row [reps [e' [O [E' H']]]]].
    destruct M' as [D' [K' _]].
    apply (by_files W whole_W w _ _ row reps w' _ tl row' reps' e e' A O (is_open _ _ D' K') O' E E'); auto.
    eapply they_share; eauto.
  - apply in_flat_map in L as [[r ls] [I L]]. unfold kept_by in I. destruct (keeper (with_tool x)) as [k|] eqn:E; [| destruct I].
    apply in_map_iff in I as [[k' f] [X I]]. simpl in X. subst f. apply filter_In in I as [I X]. apply String.eqb_eq in X.
    simpl in X. subst k'. destruct (in_kept s S k r ls I) as [p [w' [tl [D' [K' [T' [E' Z]]]]]]].
    apply (by_toolsets W whole_W w _ (with_tool x) w' _ tl k A T E (is_open _ _ D' K') T' E'). auto.
Qed.

Lemma within_hears s i c x ls more w :
  within s -> contexts s i = Some c -> caller (at_way c) = Some w ->
  incl ls (W (wname w)) -> (forall y, In y more -> incl (seal_labels y) (W (wname w))) ->
  within (set_context s i (hears c x ls more)).
Proof.
  intros S C K L M.
  assert (forall j d, contexts s j = Some d -> exists e, contexts (set_context s i (hears c x ls more)) j = Some e
            /\ at_way e = at_way d) as SAME.
  { intros j d D. simpl. destruct (j =? i) eqn:E; [| eauto]. apply Nat.eqb_eq in E. subst j.
    rewrite C in D. injection D as <-. eexists. split; [reflexivity | reflexivity]. }
  split; simpl; try apply S.
  - intros j d D. destruct (j =? i).
    + injection D as <-. destruct (in_contexts s S i c C) as [w' [A [B [X Y]]]].
      rewrite K in B. injection B as <-. exists w. split; [exact A | split; [exact K | split]]; simpl.
      * now apply incl_app.
      * intros y Z. apply in_app_iff in Z as [Z|Z]; auto.
    + now apply (in_contexts s S j).
  - intros j d k D P.
    assert (exists d0, contexts s j = Some d0 /\ parent d0 = Some k /\ at_way d0 = at_way d) as [d0 [D0 [P0 E0]]].
    { destruct (j =? i) eqn:E; [| eauto]. apply Nat.eqb_eq in E. subst j. injection D as <-. eauto. }
    destruct (in_parents s S j d0 k D0 P0) as [e [v [u [X [Y [Z O]]]]]].
    destruct (SAME k e X) as [e' [X' Y']]. simpl in X'. exists e', v, u. rewrite Y', <- E0. auto.
  - intros y Y. destruct (in_pending s S y Y) as [d [v [D [V R]]]].
    destruct (SAME _ d D) as [d' [D' E]]. simpl in D'. exists d', v. rewrite E. auto.
Qed.

Lemma an_answer_is_within s i j c d u w :
  within s -> contexts s j = Some d -> parent d = Some i -> contexts s i = Some c -> caller (at_way d) = Some u ->
  caller (at_way c) = Some w ->
  incl (context_labels d) (W (wname u))
  /\ forall l, In l (W (wname u)) -> (forall bits, handed t (at_way c) u = Bits bits -> is_strange l = false) ->
       In l (W (wname w)).
Proof.
  intros S D P C U K. destruct (in_contexts s S j d D) as [u' [DU [U' [LU _]]]].
  rewrite U in U'. injection U' as <-. split; auto.
  destruct (in_parents s S j d i D P) as [c' [w' [u' [C' [K' [Y O]]]]]].
  rewrite C in C'. injection C' as <-. rewrite K in K'. injection K' as <-.
  rewrite Y in U. injection U as ->.
  destruct (in_contexts s S i c C) as [w' [DW _]].
  intros l L B. apply (by_answers W whole_W w _ u _ l (is_open _ w DW K) O (is_open _ u DU (f_equal caller Y)) L).
  intros bits H. apply (B bits). rewrite <- H. unfold handed, own_layer. now rewrite K.
Qed.

Lemma within_step s s' : within s -> step t s s' -> within s'.
Proof.
  intros S H. destruct H as
    [i c w tl raised n targets others sent C K T Q I1 I2 | x c n words P C J NK B r ls | x c n words v u j P C J K F N L B
    | i j c d u n D P C U E | i j c d u n bits D P C U E | i j c d u n D P C U E | i c w tl n words C K T SP B | i c n C].
  - split; simpl; try apply S. intros x [<-|X]; [| now apply S]. simpl.
    destruct (in_contexts s S i c C) as [w' [_ [K' [X Y]]]]. rewrite K in K'. injection K' as <-.
    exists c, w. repeat split; auto; try apply Q. unfold sealed_in; simpl. intros y Z. apply Y.
    apply in_app_iff in Z as [Z|Z]; auto.
  - destruct (in_contexts s S _ c C) as [w [DW [K _]]].
    pose proof (after_is_within s x c w S P C K J) as A. fold ls in A.
    pose proof (judged_is_made s x c w S P C K J) as M.
    apply (within_hears _ _ _ _ _ _ w); auto; [| intros y []]. split; simpl; try apply S.
    + intros u y m Y. apply in_app_iff in Y as [Y|Y]; [| now apply (in_files s S u y)].
      apply in_map_iff in Y as [z [Z I]]. injection Z as <- <- <-.
      exists (at_way c), w, (with_tool x), (raises x), (carried_by x). auto.
    + intros k y m Y. apply in_app_iff in Y as [Y|Y]; [| now apply (in_kept s S k y)].
      destruct (keeper (with_tool x)) as [k'|] eqn:E; [| destruct Y]. destruct Y as [Y|[]]. injection Y as <- <- <-.
      exists (at_way c), w, (with_tool x). repeat split; auto. apply M.
  - destruct (in_contexts s S _ c C) as [w [DW [KW _]]].
    pose proof (after_is_within s x c w S P C KW J) as A.
    pose proof (judged_is_made s x c w S P C KW J) as M. destruct M as [_ [_ [MT [MQ MN]]]].
    pose proof (is_worker _ w DW KW) as WW.
    assert (In u (open_delegates t w)) as O.
    { unfold open_delegates. apply in_flat_map. exists v. split.
      - unfold delegates. apply in_flat_map. exists (with_tool x). rewrite K. split; auto. now left.
      - rewrite F. assert (gate t [w] v <> Blocked) as G; [| destruct (gate t [w] v); simpl; auto; congruence].
        destruct DW as [d DW]. intros G.
        pose proof (gate_is_no_stricter t (at_way c) (with_tool x) v _ _ well (comes_incl t _ d DW) K MQ MN) as X.
        pose proof (tightening_never_loosens _ _ [calling v] [calling v] nothing (alone_is_tighter (at_way c) w KW)) as Y.
        unfold gate in *. rewrite G in Y. apply MN. apply milder_antisym.
        + unfold milder; destruct (decide_in _ _ _ _ _); simpl; lia.
        + eapply milder_trans; eauto. }
    assert (exists d, comes t (u :: at_way c) d) as DU.
    { destruct DW as [d DW]. eexists. eapply comes_on; eauto. }
    assert (incl (W (wname w)) (W (wname u))) as WU.
    { apply (by_callers W whole_W u _ w _ (is_open _ u DU eq_refl) (is_open _ w DW KW) O). }
    assert (forall i e, contexts s i = Some e -> (i =? j) = false) as FREE.
    { intros i e I. apply Nat.eqb_neq. intros ->. congruence. }
    split; simpl; try apply S.
    + intros k e I. destruct (k =? j); [| now apply (in_contexts s S k)]. injection I as <-. exists u. simpl.
      split; auto. split; auto. split; [eapply incl_tran; eauto | intros y []].
    + intros k e i I R. destruct (k =? j) eqn:X.
      * injection I as <-. simpl in R. injection R as <-. exists c, w, u. rewrite (FREE _ c C). auto.
      * destruct (in_parents s S k e i I R) as [e' [w' [u' [X1 X2]]]]. exists e', w', u'. rewrite (FREE _ _ X1). auto.
    + intros y Y. destruct (in_pending s S y Y) as [e [w' [X1 X2]]]. exists e, w'. rewrite (FREE _ _ X1). auto.
  - destruct (in_contexts s S i c C) as [w [DW [K _]]].
    destruct (an_answer_is_within s i j c d u w S D P C U K) as [A B].
    apply (within_hears _ _ _ _ _ _ w); auto; [| intros y []].
    intros l L. apply B; auto. rewrite E. discriminate.
  - destruct (in_contexts s S i c C) as [w [DW [K _]]].
    destruct (an_answer_is_within s i j c d u w S D P C U K) as [A B].
    apply (within_hears _ _ _ _ _ _ w); auto; [| intros y []].
    intros l L. apply filter_In in L as [L X]. apply B; auto. intros _ _. now apply negb_true_iff.
  - destruct (in_contexts s S i c C) as [w [DW [K _]]].
    destruct (an_answer_is_within s i j c d u w S D P C U K) as [A B].
    apply (within_hears _ _ _ _ _ _ w); auto; [intros l [] |].
    intros y [<-|[]] l L. simpl in L. apply B; auto. rewrite E. discriminate.
  - destruct (in_contexts s S i c C) as [w' [DW [K' _]]]. rewrite K in K'. injection K' as <-.
    apply (within_hears _ _ _ _ _ _ w); auto; [| intros y []].
    intros l L. apply (by_words W whole_W w _ tl (is_open _ w DW K) T SP). unfold labels_of in *.
    apply filter_In in L as [L X]. apply filter_In. split; auto using from_is_looked_for.
  - destruct (in_contexts s S i c C) as [w [DW [K _]]].
    apply (within_hears _ _ _ _ _ _ w); auto; [intros l [] | intros y []].
Qed.

Lemma within_leads n w u s :
  In n (starts t) -> find_worker t n = Some w -> (u = true -> untrusted_input = true) -> leads t (begins t w u) s -> within s.
Proof.
  intros N F U H.
  assert (exists d, comes t [w] d) as DW by (exists Allowed; eapply comes_first; eauto).
  assert (wname w = n) as NW.
  { unfold find_worker in F. apply find_some in F as [_ F]. now apply String.eqb_eq in F. }
  induction H as [| s s' H IH S]; [| now apply (within_step s)].
  split; simpl; try tauto.
  - intros i c C. destruct (i =? 0); [| discriminate]. injection C as <-. exists w. simpl.
    split; auto. split; auto. split; [| intros y []]. destruct u; [| intros l []].
    intros l L. rewrite NW. apply (by_input W whole_W n); auto; [exists w; eexists; split; [now apply (is_open [w]) | exact NW] |].
    unfold labels_of in *. apply filter_In in L as [L X]. apply filter_In. split; auto using from_is_looked_for.
  - intros j d i D P. destruct (j =? 0); [| discriminate]. injection D as <-. discriminate.
Qed.

End Labels.

(** Whatever labels a worker's messages, the sealed texts that it was handed, or a call that it has chosen carry in any
    run, [labels_below] says of that worker. *)
Theorem labels_of_runs_are_foreseen t n w u s :
  well_formed t -> In n (starts t) -> find_worker t n = Some w -> leads t (begins t w u) s ->
  let foreseen v := by_name (wname v) (of_workers (labels_below t u)) in
  (forall i c v, contexts s i = Some c -> caller (at_way c) = Some v ->
     incl (context_labels c ++ flat_map seal_labels (seals c)) (foreseen v))
  /\ forall x c v, In x (pending s) -> contexts s (by_context x) = Some c -> caller (at_way c) = Some v ->
       incl (labels (carried_by x)) (foreseen v).
Proof.
  intros WF N F H foreseen. destruct (labels_below_is_closed t u) as [W [C I]].
  pose proof (within_leads t u WF W C n w u s N F (fun E => E) H) as S.
  assert (forall c v, (exists d, comes t (at_way c) d) -> caller (at_way c) = Some v -> incl (W (wname v)) (foreseen v)) as E.
  { intros c v D K. apply (I v _ (is_open t WF _ v D K)). }
  split.
  - intros i c v X K. destruct (in_contexts t W s S i c X) as [v' [D [K' [L M]]]]. rewrite K in K'. injection K' as <-.
    eapply incl_tran; [| now apply (E c)]. apply incl_app; auto.
    intros l J. apply in_flat_map in J as [y [Y J]]. now apply (M y Y).
  - intros x c v P X K. destruct (in_pending t W s S x P) as [c' [v' [X' [K' [_ [_ [L M]]]]]]].
    rewrite X in X'. injection X' as <-. rewrite K in K'. injection K' as <-.
    destruct (in_contexts t W s S _ c X) as [_ [D _]].
    eapply incl_tran; [| now apply (E c)]. unfold carried_by. cbn [labels].
    assert (forall y, In y (sealed_in x) -> incl (seal_labels y) (W (wname v))) as M' by exact M.
    intros l J. rewrite !in_app_iff in J. destruct J as [J|[J|J]]; auto.
    + apply in_flat_map in J as [y [Y J]]. apply (M' y); auto. unfold sealed_in. apply in_app_iff. now left.
    + apply filter_In in J as [J _]. apply in_flat_map in J as [y [Y J]]. apply (M' y); auto.
      unfold sealed_in. apply in_app_iff. now right.
Qed.
