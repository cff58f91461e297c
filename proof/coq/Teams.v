(** Teams, runs and reach: docs/capabilities.md, "What reach says"; llmdo/policy/composition.py and llmdo/reach/.

    [reach] walks every way up to `max-depth`, as plainly as can be. llmdo searches breadth first, once for each set of
    ceilings that cut a call off; the comparison holds the two against each other. *)

From Coq Require Import String Bool Arith Lia List.
From llmdo Require Import Law.
Import ListNotations.
Open Scope string_scope.
Open Scope nat_scope.
Open Scope list_scope.
Open Scope bool_scope.

(** * Teams *)

(** `Layer`: what an entry or a worker adds; it only tightens. *)
Record layer := Layer {
  own : list rule;
  may : option ceiling;
  own_flows : list flow;
  own_bits : nat; (* `max-bits`: what a closed answer may carry *)
}.

(** What a delegate's caller is handed: its words, an answer of so many bits, or a name and a size. *)
Inductive handover := Open | Bits (most : nat) | Sealed.

(** How a tool's calls relate to what it declares: all of it, any part of it by a hook, or a worker that is called. *)
Inductive kind := Plain | Narrowed | Calls (callee : string).

Record tool := Tool {
  declared : list capability;
  kind_of : kind;
  speaks : bool; (* its toolset may say something before any call is decided, such as instructions *)
  keeper : option string; (* its toolset, where that may return later what it was given *)
}.

Record worker := Worker { wname : string; restricts : layer; tools : list tool; answers : handover }.

Record team := Team {
  manifest : list rule;
  fallback : decision; (* `default` *)
  tightening : list rule; (* of policies that the manifest extends, and of the person *)
  team_flows : list flow;
  team_reads : list name;
  team_bits : nat;
  sources : list (capability * capability); (* `[sources]`: a capability, and the label of what it returns *)
  depth : nat; (* `max-depth` *)
  entry : layer;
  starts : list string;
  workers : list worker;
}.

Definition find_worker (t : team) (n : string) : option worker :=
  find (fun w => String.eqb (wname w) n) (workers t).

(** A way is the workers on a call path, the caller first and the one that the entry starts last. *)
Definition way := list worker.

Definition caller (p : way) : option worker := hd_error p.

Definition own_layer (p : way) : layer :=
  match caller p with Some w => restricts w | None => Layer [] None [] 256 end.

Definition ceilings_of (ls : list layer) : list ceiling :=
  flat_map (fun l => match may l with Some c => [c] | None => [] end) ls.

(** `authority_of`: rules of the entry hold for its tree, those of a worker for its own calls, ceilings for all below. *)
Definition authority_of (t : team) (p : way) : authority :=
  Authority (base_rules (manifest t)) (fallback t) (own (entry t) ++ own (own_layer p) ++ tightening t)
            (ceilings_of (entry t :: map restricts p))
            (team_flows t ++ own_flows (entry t) ++ own_flows (own_layer p)) (team_reads t).

Definition calling (callee : string) : capability := Cap delegate (Scope [callee] false).

Definition decide_in (t : team) (p : way) (tl : tool) (raised : list capability) (k : carried) : decision :=
  decide (authority_of t p) (declared tl) raised k.

(** * Runs *)

(** What one call of a tool may raise. A call of a worker raises that this worker is called, and reads of files.
    Nobody can spell a name below `capability.undeclared`. *)
Definition possible (tl : tool) (raised : list capability) : Prop :=
  (forall c, In c raised -> prefix undeclared (cname c) = true -> cname c = undeclared)
  /\ match kind_of tl with
     | Plain => raised = declared tl
     | Narrowed => True
     | Calls v => In (calling v) raised /\ forall c, In c raised -> c = calling v \/ prefix delegate (cname c) = false
     end.

(** Some run comes along a way, and the strictest decision over the delegations on it is [d]: none was blocked, and who
    was asked said yes. The labels that calls carry may be any. *)
Inductive comes (t : team) : way -> decision -> Prop :=
| comes_first n w : In n (starts t) -> find_worker t n = Some w -> comes t [w] Allowed
| comes_on p d w tl v u raised k :
    comes t p d -> caller p = Some w -> In tl (tools w) -> kind_of tl = Calls v -> find_worker t v = Some u ->
    length p <= depth t -> possible tl raised -> decide_in t p tl raised k <> Blocked ->
    comes t (u :: p) (stricter_of d (decide_in t p tl raised k)).

(** Some run executes a call that raises [c], and the strictest decision over it and the delegations to it is [d]. *)
Definition executed (t : team) (c : capability) (d : decision) : Prop :=
  exists p g w tl raised k,
    comes t p g /\ caller p = Some w /\ In tl (tools w) /\ possible tl raised /\ In c raised
    /\ decide_in t p tl raised k <> Blocked /\ d = stricter_of g (decide_in t p tl raised k).

(** * Representative calls; llmdo/reach/shapes.py *)

Definition flow_caps (f : flow) : list capability := sink f :: froms f.

Definition all_layers (t : team) : list layer := entry t :: map restricts (workers t).

Definition all_flows (t : team) : list flow := team_flows t ++ flat_map own_flows (all_layers t).

(** `Premises.named`: what rules, ceilings, flow rules and sources name; a listing is asked about as a read is. *)
Definition named (t : team) : list capability :=
  map about (manifest t ++ tightening t ++ flat_map own (all_layers t))
  ++ concat (ceilings_of (all_layers t)) ++ flat_map flow_caps (all_flows t) ++ map fst (sources t)
  ++ map (fun s => Cap ["fs"; "list"] (cscope (fst s))) (filter (fun s => prefix (cname (fst s)) ["fs"; "read"]) (sources t)).

Definition names (t : team) : list name := map cname (named t) ++ map (fun r => cname (about r)) built_in.

(** `Shapes._below` *)
Definition narrower_names (ns : list name) (n : name) : list name := n :: filter (prefix n) ns.

(** `Shapes._cut`: the scopes within [c] that are written somewhere, for its name or one above it. *)
Definition classes (nm : list capability) (c : capability) : list scope :=
  cscope c :: filter (scope_contains (cscope c)) (map cscope (filter (fun d => prefix (cname d) (cname c)) nm)).

(** `_representative`: a file that nobody wrote stands for what no narrower scope names. *)
Definition fresh := "*".
Definition instance (s : scope) : scope := if below s then Scope (path s ++ [fresh]) false else s.

Definition narrowed (nm : list capability) (ns : list name) (c : capability) : list (capability * capability) :=
  flat_map (fun n => map (fun s => (Cap n s, Cap n (instance s))) (classes nm (Cap n (cscope c))))
           (narrower_names ns (cname c)).

(** `Shapes.delegating` *)
Definition is_called (nm : list capability) (callee : string) : bool :=
  existsb (fun c => prefix (cname c) delegate && cap_eqb (Cap delegate (cscope c)) (calling callee)) nm.

Definition call_row (nm : list capability) (callee : string) : capability :=
  if is_called nm callee then calling callee else of_name delegate.

Definition instance_of (row : capability) : capability := Cap (cname row) (instance (cscope row)).

(** `Shapes.of_tool`: the row of each representative call, and what that raises. *)
Definition calls (nm : list capability) (ns : list name) (tl : tool) : list (capability * list capability) :=
  match kind_of tl with
  | Plain => map (fun c => (c, declared tl)) (declared tl)
  | Narrowed => map (fun x => (fst x, [snd x])) (flat_map (narrowed nm ns) (declared tl))
  | Calls v =>
      let row := call_row nm v in
      (row, [instance_of row])
      :: map (fun x => (fst x, [snd x; instance_of row]))
             (flat_map (narrowed nm ns) (filter (fun c => negb (cap_eqb (of_name delegate) c)) (declared tl)))
  end.

(** * Reach *)

Definition delegates (w : worker) : list string :=
  flat_map (fun tl => match kind_of tl with Calls v => [v] | _ => [] end) (tools w).

(** `Rulings.gate` *)
Definition gate (t : team) (p : way) (callee : string) : decision :=
  decide (authority_of t p) [calling callee] [calling callee] nothing.

(** Every way with at most [fuel] more delegations, none of them blocked, and the strictest decision over those. *)
Fixpoint ways (t : team) (fuel : nat) (p : way) (g : decision) : list (way * decision) :=
  (p, g) ::
  match fuel, caller p with
  | S less, Some w =>
      flat_map (fun v => let d := gate t p v in
                         match find_worker t v with
                         | Some u => if is_blocked d then [] else ways t less (u :: p) (stricter_of g d)
                         | None => []
                         end)
               (delegates w)
  | _, _ => []
  end.

Definition all_ways (t : team) : list (way * decision) :=
  flat_map (fun n => match find_worker t n with Some w => ways t (depth t) [w] Allowed | None => [] end) (starts t).

Definition is_plain (tl : tool) : bool := match kind_of tl with Plain => true | _ => false end.

(** Each representative call on each way, with its decision, and whether it raises all that its tool declares. *)
Definition found_by (t : team) : list (bool * (capability * decision)) :=
  let nm := named t in
  let ns := names t in
  flat_map (fun x =>
    let a := authority_of t (fst x) in
    flat_map (fun tl =>
      map (fun call => (is_plain tl, (fst call, stricter_of (snd x) (decide a (declared tl) (snd call) nothing))))
          (calls nm ns tl))
    (match caller (fst x) with Some w => tools w | None => [] end))
  (all_ways t).

Definition found (t : team) : list (capability * decision) := map snd (found_by t).

Fixpoint with_row (row : capability) (d : decision) (rows : list (capability * decision)) :=
  match rows with
  | [] => [(row, d)]
  | (r, e) :: more => if cap_eqb r row then (r, milder_of d e) :: more else (r, e) :: with_row row d more
  end.

(** One row for each capability, with the mildest decision. *)
Definition merged (rows : list (capability * decision)) : list (capability * decision) :=
  fold_right (fun x acc => with_row (fst x) (snd x) acc) [] rows.

(** `Shapes.covers`: a call of a wider row may be about all of a narrower one. *)
Definition covers (nm : list capability) (whole : bool) (row narrow : capability) : bool :=
  same (cname row) (cname narrow) && scope_contains (cscope row) (cscope narrow)
  && (whole || negb (existsb (fun s => negb (scope_contains s (cscope row)) && scope_contains s (cscope narrow))
                             (classes nm row))).

(** A row says the mildest of its own calls and of those that cover it. *)
Definition eased (nm : list capability) (all : list (bool * (capability * decision))) (x : capability * decision) :=
  (fst x, fold_right (fun y d => if covers nm (fst y) (fst (snd y)) (fst x) then milder_of (snd (snd y)) d else d)
                     (snd x) all).

(** The rows that some tool declares by that name: the others only tell where they are milder than a wider one. *)
Definition stated (nm : list capability) (ns : list name) (tl : tool) : list capability :=
  filter (fun row => existsb (fun d => same (cname d) (cname row) && scope_contains (cscope d) (cscope row)) (declared tl))
         (map fst (calls nm ns tl)).

(** `telling` *)
Definition telling (known : list capability) (rows : list (capability * decision)) : list (capability * decision) :=
  filter (fun x => existsb (cap_eqb (fst x)) known
                   || negb (existsb (fun y => contains (fst y) (fst x) && negb (cap_eqb (fst y) (fst x))
                                              && is_milder (snd y) (snd x)) rows))
         rows.

(** `Analysis.of` *)
Definition reach (t : team) : list (capability * decision) :=
  let nm := named t in
  let ns := names t in
  telling (flat_map (fun w => flat_map (stated nm ns) (tools w)) (workers t))
          (map (eased nm (found_by t)) (merged (found t))).

(** * What is asked of a team: its files can say nothing else, or `check` refuses them *)

Record well_formed (t : team) : Prop := {
  (* no scope can spell `*`, and no capability is without a name *)
  wf_fresh : forall c, In c (named t) -> ~ In fresh (path (cscope c));
  wf_declared : forall w tl c, In w (workers t) -> In tl (tools w) -> In c (declared tl) ->
                  cname c <> [] /\ ~ In fresh (path (cscope c));
  (* the scope of a rule about delegation is the name of a worker, or everywhere (LDO207) *)
  wf_called : forall c, In c (named t) -> prefix (cname c) delegate = true -> below (cscope c) = true -> cscope c = everywhere;
  (* a preset is about a stranger's words *)
  wf_presets : forall f, In f (all_flows t) -> is_preset f = true \/ if_sent f = true ->
                 exists s, In s (froms f) /\ is_strange s = true;
  (* llmdo itself declares what calling a worker raises *)
  wf_calls : forall w tl v, In w (workers t) -> In tl (tools w) -> kind_of tl = Calls v ->
               In (of_name delegate) (declared tl);
  (* nothing lies below `capability.undeclared` *)
  wf_names : forall c, In c (named t) \/ (exists w tl, In w (workers t) /\ In tl (tools w) /\ In c (declared tl)) ->
               prefix undeclared (cname c) = true -> cname c = undeclared;
}.

(** * Proofs *)

Definition known (t : team) (p : capability) : Prop :=
  In p (named t) \/ (cscope p = everywhere /\ In (cname p) (names t)).

(** [i] stands for [c]: nothing in the team tells them apart to the disadvantage of [i]. *)
Record stands_for (t : team) (i c : capability) : Prop := {
  sf_name : prefix (cname i) (cname c) = true;
  sf_contains : forall p, known t p -> contains p c = true -> contains p i = true;
  sf_touches : forall p, known t p -> touches p i = true -> touches p c = true;
  sf_outside : is_of (cname c) outside_ceilings = true -> is_of (cname i) outside_ceilings = true;
}.

Lemma stands_for_itself t c : stands_for t c c.
Proof. split; auto using prefix_refl. Qed.

Lemma least {A} (R : A -> A -> bool) (l : list A) :
  l <> [] -> (forall x y, In x l -> In y l -> R x y = true \/ R y x = true) ->
  (forall x y z, R x y = true -> R y z = true -> R x z = true) ->
  exists x, In x l /\ forall y, In y l -> R x y = true.
Proof.
  intros N T TR. induction l as [|a l IH]; [congruence|].
  destruct l as [|b l].
  - exists a. split; [now left|]. intros y [<-|[]]. destruct (T a a); simpl; auto.
  - destruct IH as [x [I L]]; [congruence | intros; apply T; now right |].
    destruct (T a x) as [H|H]; [now left | now right | |].
    + exists a. split; [now left|]. intros y [<-|J].
      * destruct (T a a); simpl; auto.
      * eauto.
    + exists x. split; [now right|]. intros y [<-|J]; auto.
Qed.

Lemma contains_split p c : contains p c = true <-> prefix (cname p) (cname c) = true /\ scope_contains (cscope p) (cscope c) = true.
Proof. unfold contains. apply andb_true_iff. Qed.

Lemma in_names t c : In c (named t) -> In (cname c) (names t).
Proof. intros H. unfold names. apply in_app_iff; left. now apply in_map. Qed.

Lemma built_in_outside t n : is_of n outside_ceilings = true -> In n (names t).
Proof.
  unfold is_of. rewrite existsb_exists. intros [m [I E]]. apply same_eq in E as ->.
  unfold names. apply in_app_iff; right. simpl in *. intuition (subst; simpl; auto 20).
Qed.

Lemma prefix_snoc a b x : prefix a (b ++ [x]) = true -> prefix a b = true \/ a = b ++ [x].
Proof.
  rewrite !prefix_app. intros [c H]. destruct c as [|y c] using rev_ind.
  - right. now rewrite app_nil_r in H.
  - left. rewrite app_assoc in H. apply app_inj_tail in H as [-> _]. now exists c.
Qed.

Lemma contains_instance s u : ~ In fresh (path s) -> scope_contains s (instance u) = true -> scope_contains s u = true.
Proof.
  intros F. unfold instance. destruct u as [q []]; simpl; auto.
  unfold scope_contains; simpl. destruct (below s).
  - intros H. apply prefix_snoc in H as [H|H]; auto. exfalso. apply F. rewrite H. apply in_app_iff. right. now left.
  - rewrite same_eq. intros H. exfalso. apply F. rewrite H. apply in_app_iff. right. now left.
Qed.

Lemma instance_inside u : scope_contains u (instance u) = true.
Proof.
  unfold instance. destruct u as [q []]; simpl; [| apply scope_refl].
  unfold scope_contains; simpl. apply prefix_app. now exists [fresh].
Qed.

Lemma instance_holds s u : ~ In fresh (path s) -> scope_contains (instance u) s = true -> scope_contains s u = true.
Proof.
  intros F. unfold instance. destruct u as [q []]; simpl.
  - unfold scope_contains; simpl. rewrite andb_true_iff, same_eq. intros [_ H]. exfalso. apply F.
    rewrite <- H. apply in_app_iff. right. now left.
  - unfold scope_contains; simpl. rewrite andb_true_iff, same_eq, negb_true_iff. intros [B H].
    rewrite B, H. simpl. now apply same_eq.
Qed.

(** Each call within what a tool declares is represented by one of few, and so is what it does to the files of [f]. *)
Lemma represented_at t d c f :
  well_formed t -> contains d c = true -> scope_contains (cscope c) f = true ->
  exists n u, In (Cap n u, Cap n (instance u)) (narrowed (named t) (names t) d)
    /\ prefix n (cname c) = true /\ prefix (cname d) n = true
    /\ scope_contains (cscope d) u = true /\ scope_contains u f = true
    /\ (u = cscope d \/ exists p, In p (named t) /\ u = cscope p)
    /\ (forall p, known t p -> prefix (cname p) (cname c) = true -> prefix (cname p) n = true)
    /\ (forall p, known t p -> prefix (cname p) (cname c) = true -> scope_contains (cscope p) f = true ->
          scope_contains (cscope p) u = true)
    /\ stands_for t (Cap n (instance u)) c.
Proof.
  intros W D CF. apply contains_split in D as [DN DC].
  pose proof (scope_trans _ _ _ DC CF) as DS.
  (* the narrowest name that somebody wrote *)
  destruct (least (fun m k => prefix k m) (filter (fun m => prefix m (cname c)) (narrower_names (names t) (cname d))))
    as [n [NI NL]].
  { unfold narrower_names. simpl. rewrite DN. discriminate. }
  { intros x y X Y. apply filter_In in X as [_ X], Y as [_ Y]. destruct (prefix_nested _ _ _ X Y); auto. }
  { intros x y z X Y. eapply prefix_trans; eauto. }
  apply filter_In in NI as [NI NC].
  assert (prefix (cname d) n = true) as DNn.
  { unfold narrower_names in NI. destruct NI as [<-|NI]; [apply prefix_refl|]. now apply filter_In in NI as [_ NI]. }
  (* the narrowest scope that somebody wrote for it *)
  destruct (least (fun s u => scope_contains u s)
              (filter (fun s => scope_contains s f) (classes (named t) (Cap n (cscope d)))))
    as [u [UI UL]].
  { unfold classes. simpl. rewrite DS. discriminate. }
  { intros x y X Y. apply filter_In in X as [_ X], Y as [_ Y]. destruct (scope_nested _ _ _ X Y); auto. }
  { intros x y z X Y. eapply scope_trans; eauto. }
  apply filter_In in UI as [UI UC].
  assert (scope_contains (cscope d) u = true /\ (u = cscope d \/ exists p, In p (named t) /\ u = cscope p)) as [DU UK].
  { unfold classes in UI. simpl in UI. destruct UI as [<-|UI]; [split; [apply scope_refl | now left]|].
    apply filter_In in UI as [UI U]. split; auto. right. apply in_map_iff in UI as [p [E P]].
    apply filter_In in P as [P _]. eauto. }
  assert (forall p, known t p -> prefix (cname p) (cname c) = true -> prefix (cname p) n = true) as NM.
  { intros p K P. assert (In (cname p) (names t)) as PN by (destruct K as [K|[_ K]]; auto using in_names).
    destruct (prefix_nested _ _ _ P DN) as [H|H].
    - eapply prefix_trans; eauto.
    - apply NL. apply filter_In. split; auto. unfold narrower_names. right. apply filter_In. auto. }
  assert (forall p, known t p -> ~ In fresh (path (cscope p))) as FR.
  { intros p [K|[K _]]; [now apply (wf_fresh t W) | rewrite K; simpl; tauto]. }
  assert (forall p, known t p -> prefix (cname p) (cname c) = true -> scope_contains (cscope p) f = true ->
            scope_contains (cscope p) u = true) as SM.
  { intros p K PN PS. destruct (scope_nested _ _ _ PS DS) as [H|H]; [eapply scope_trans; eauto |].
    destruct K as [K|[K _]]; [| now rewrite K].
    apply UL. apply filter_In. split; auto. unfold classes. right.
    apply filter_In. split; [| exact H]. apply in_map. apply filter_In. split; auto.
    simpl. apply NM; auto. now left. }
  exists n, u. split; [| split; [exact NC | split; [exact DNn | split; [exact DU | split; [exact UC | split; [exact UK |
    split; [exact NM | split; [exact SM |]]]]]]]].
  { unfold narrowed. apply in_flat_map. exists n. split; auto. apply in_map_iff. exists u. auto. }
  split.
  - exact NC.
  - intros p K H. apply contains_split in H as [H1 H2]. apply contains_split. simpl. split; [now apply NM|].
    eapply scope_trans; [| apply instance_inside]. apply SM; auto. eapply scope_trans; eauto.
  - intros p K H. unfold touches in *. simpl in *. rewrite andb_true_iff, orb_true_iff in *. destruct H as [H1 H2].
    split; [eapply prefix_trans; eauto|].
    assert (scope_contains (cscope p) u = true) as X by (destruct H2; auto using contains_instance, instance_holds).
    apply (scope_nested _ _ f); auto. eapply scope_trans; eauto.
  - intros H. simpl. replace n with (cname c); auto. apply prefix_antisym; auto.
    apply (NM (of_name (cname c))); [right; simpl; auto using built_in_outside | apply prefix_refl].
Qed.

Lemma represented t d c :
  well_formed t -> contains d c = true ->
  exists row i, In (row, i) (narrowed (named t) (names t) d) /\ contains row c = true /\ contains d i = true
                /\ stands_for t i c.
Proof.
  intros W D. destruct (represented_at t d c (cscope c) W D (scope_refl _)) as
    [n [u [I [NC [DN [DU [UC [_ [_ [_ S]]]]]]]]]].
  exists (Cap n u), (Cap n (instance u)). split; [exact I|].
  split; [now apply contains_split|]. split; [| exact S].
  apply contains_split. simpl. split; auto. eapply scope_trans; eauto using instance_inside.
Qed.

Lemma calls_a_worker t v :
  well_formed t -> contains (call_row (named t) v) (calling v) = true
                   /\ stands_for t (instance_of (call_row (named t) v)) (calling v).
Proof.
  intros W. unfold call_row. destruct (is_called (named t) v) eqn:E.
  - split; [apply contains_refl | apply stands_for_itself].
  - split; [reflexivity|].
    assert (forall p, known t p -> prefix (cname p) delegate = true ->
              scope_contains (cscope p) (Scope [v] false) = true -> cscope p = everywhere) as EV.
    { intros p [K|[K _]] P S; auto.
      destruct (below (cscope p)) eqn:B; [now apply (wf_called t W)|].
      exfalso. apply not_true_iff_false in E. apply E. unfold is_called. apply existsb_exists. exists p.
      split; auto. rewrite P. simpl. apply cap_eqb_eq. unfold calling. f_equal.
      apply scope_antisym; auto. unfold scope_contains in *. rewrite B in S. simpl in S. apply same_eq in S.
      simpl. rewrite B, S. simpl. now apply same_eq. }
    assert (forall p, known t p -> ~ In fresh (path (cscope p))) as FR.
    { intros p [K|[K _]]; [now apply (wf_fresh t W) | rewrite K; simpl; tauto]. }
    split; auto.
    + intros p K H. unfold instance_of; simpl. apply contains_split in H as [H1 H2]. simpl in *.
      apply contains_split. simpl. split; auto. now rewrite (EV p).
    + intros p K H. unfold instance_of, touches in *; simpl in *. rewrite andb_true_iff, orb_true_iff in *.
      destruct H as [H1 H2]. split; auto. left.
      assert (scope_contains (cscope p) everywhere = true) as X
        by (destruct H2 as [H2|H2]; [apply (contains_instance _ everywhere) | apply (instance_holds _ everywhere)]; auto).
      eapply scope_trans; eauto.
Qed.

(** An authority whose rules, ceilings and flows are those of the team. *)
Record of_team (t : team) (a : authority) : Prop := {
  ot_rules : forall r, In r (base a ++ layers a) -> known t (about r);
  ot_ceilings : forall m c, In m (ceilings a) -> In c m -> known t c;
  ot_flows : forall f, In f (flows a) -> In f (all_flows t);
}.

Lemma in_ceilings_of ls m : In m (ceilings_of ls) <-> exists l, In l ls /\ may l = Some m.
Proof.
  unfold ceilings_of. rewrite in_flat_map. split.
  - intros [l [I H]]. exists l. destruct (may l); simpl in H; intuition congruence.
  - intros [l [I H]]. exists l. rewrite H. simpl. auto.
Qed.

Lemma authority_is_of_team t p : incl p (workers t) -> of_team t (authority_of t p).
Proof.
  intros P.
  assert (forall r, In r (own (own_layer p)) -> In r (flat_map own (all_layers t))) as OW.
  { intros r R. unfold own_layer, caller in R. destruct p as [|w p]; simpl in R; [tauto|].
    apply in_flat_map. exists (restricts w). split; auto. right. apply in_map. apply P. now left. }
  split; simpl.
  - intros r R. apply in_app_iff in R as [R|R].
    + unfold base_rules in R. apply in_app_iff in R as [R|R].
      * right. apply filter_In in R as [R _]. split.
        -- simpl in R. intuition (subst; reflexivity).
        -- unfold names. apply in_app_iff. right. apply in_map_iff. eauto.
      * left. unfold named. apply in_app_iff; left. apply in_map. apply in_app_iff; now left.
    + left. unfold named. apply in_app_iff; left. apply in_map. apply in_app_iff; right.
      apply in_app_iff in R as [R|R]; [| apply in_app_iff in R as [R|R]].
      * apply in_app_iff; right. simpl. apply in_app_iff; now left.
      * apply in_app_iff; right. now apply OW.
      * apply in_app_iff; now left.
  - intros m c M C. left. unfold named. apply in_app_iff; right. apply in_app_iff; left.
    apply in_concat. exists m. split; auto. apply in_ceilings_of.
    apply (in_ceilings_of (entry t :: map restricts p)) in M as [l [L E]].
    exists l. split; auto. destruct L as [<-|L]; [now left|]. right. apply in_map_iff in L as [w [<- L]].
    apply in_map. auto.
  - intros f F. unfold all_flows. apply in_app_iff in F as [F|F]; apply in_app_iff; auto. right.
    apply in_app_iff in F as [F|F]; simpl; apply in_app_iff; auto. right.
    unfold own_layer, caller in F. destruct p as [|w p]; simpl in F; [tauto|].
    apply in_flat_map. exists (restricts w). split; auto. apply in_map. apply P. now left.
Qed.

Lemma flow_known t f : In f (all_flows t) -> known t (sink f) /\ forall s, In s (froms f) -> known t s.
Proof.
  intros F. assert (forall s, In s (flow_caps f) -> known t s) as H.
  { intros s S. left. unfold named. apply in_app_iff; right. apply in_app_iff; right. apply in_app_iff; left.
    apply in_flat_map. eauto. }
  split; [apply H; now left | intros s S; apply H; now right].
Qed.

(** Calls that are represented are decided no more mildly, whatever labels they carry. *)
Lemma represented_is_no_stricter t a D reps raised k :
  well_formed t -> of_team t a ->
  (forall i, In i reps -> is_declared D i = true /\ exists c, In c raised /\ stands_for t i c) ->
  milder (decide a D reps nothing) (decide a D raised k).
Proof.
  intros W A H. apply strictest_spec. intros e E. apply in_flat_map in E as [i [I E]].
  destruct (H i I) as [DI [c [C S]]].
  destruct (is_declared D c) eqn:DC.
  2: { apply milder_trans with Blocked; [unfold milder; destruct e; simpl; lia|].
       apply (in_opinions _ _ _ _ c); auto. unfold opinions. rewrite DC. apply in_app_iff; left. now left. }
  unfold opinions in E. rewrite DI in E.
  assert (forall x, In x (opinions a D raised k c) -> milder x (decide a D raised k)) as O
    by (intros; now apply (in_opinions _ _ _ _ c)).
  destruct (is_milder e Allowed) eqn:EA.
  { apply is_milder_spec in EA. eapply milder_trans; [exact EA|]. unfold milder; simpl; lia. }
  assert (e <> Allowed) as NA by (intros ->; discriminate).
  apply in_app_iff in E as [E|E].
  - apply O. unfold opinions. rewrite DC. apply in_app_iff; left. unfold by_rules in *.
    apply in_app_iff in E as [E|E]; apply in_app_iff; [left | right; apply in_app_iff in E as [E|E]; apply in_app_iff].
    + apply in_map_iff in E as [m [<- E]]. apply filter_In in E as [E N]. apply in_map_iff. exists m. split; auto.
      apply filter_In. split; auto. rewrite negb_true_iff in *. apply not_true_iff_false. intros X.
      apply not_true_iff_false in N. apply N. unfold admits in *. rewrite orb_true_iff in *.
      destruct X as [X|X]; [left; now apply (sf_outside t i c S)|]. right.
      apply existsb_exists in X as [p [P G]]. apply existsb_exists. exists p. split; auto.
      unfold grants in *. rewrite andb_true_iff in *. destruct G as [G1 G2]. split.
      * apply (sf_contains t i c S); auto. eapply (ot_ceilings t a A); eauto.
      * rewrite forallb_forall in *. intros g Gg. specialize (G2 g Gg). rewrite orb_true_iff, negb_true_iff in *.
        destruct (prefix g (cname i)) eqn:PG; auto. right. destruct G2 as [G2|G2]; auto.
        rewrite (prefix_trans _ _ _ PG (sf_name t i c S)) in G2. discriminate.
    + left. destruct (existsb (fun r => contains (about r) i) (base a)) eqn:X; [destruct E|].
      replace (existsb (fun r => contains (about r) c) (base a)) with false; auto. symmetry.
      apply not_true_is_false. intros Y. apply not_true_iff_false in X. apply X.
      apply existsb_exists in Y as [r [R Y]]. apply existsb_exists. exists r. split; auto.
      apply (sf_contains t i c S); auto. apply (ot_rules t a A). apply in_app_iff; now left.
    + right. apply in_map_iff in E as [r [<- E]]. apply filter_In in E as [E X]. apply in_map_iff. exists r. split; auto.
      apply filter_In. split; auto. pose proof (ot_rules t a A r E) as K. unfold applies in *.
      destruct (says r) eqn:SR; [congruence | |]; now apply (sf_touches t i c S).
  - apply in_map_iff in E as [f [<- E]]. apply filter_In in E as [E X].
    pose proof (ot_flows t a A f E) as FT. destruct (flow_known t f FT) as [KT KF].
    unfold flows_in in X. rewrite !andb_true_iff in X. destruct X as [[[X1 X2] X3] X4].
    rewrite forallb_forall in X4.
    assert (forall s, In s (froms f) -> is_strange s = false /\ exists j, In j reps /\ touches s j = true) as CT.
    { intros s Ss. specialize (X4 s Ss). unfold counts, carries in X4. simpl in X4.
      rewrite andb_true_iff, negb_true_iff, existsb_exists in X4. exact X4. }
    assert (is_preset f = false /\ if_sent f = false) as [NP NS].
    { destruct (is_preset f) eqn:P; [| destruct (if_sent f) eqn:Q; auto];
        (destruct (wf_presets t W f FT) as [s [Ss St]]; auto; destruct (CT s Ss); congruence). }
    apply O. unfold opinions. apply in_app_iff; right. apply in_map_iff. exists f. split; auto.
    apply filter_In. split; auto. unfold flows_in, is_for_own in *. rewrite NP, NS in *. simpl in *.
    rewrite orb_false_r in *. rewrite (sf_touches t i c S _ KT X1). simpl.
    apply forallb_forall. intros s Ss. destruct (CT s Ss) as [SN [j [J T]]].
    destruct (H j J) as [_ [c' [C' S']]].
    unfold counts. rewrite SN. simpl. apply orb_true_iff. right. apply existsb_exists. exists c'. split; auto.
    apply (sf_touches t j c' S'); auto.
Qed.

Lemma delegate_declared i : cname i = delegate -> is_declared [i] i = true.
Proof. intros E. unfold is_declared. rewrite E. simpl. now rewrite contains_refl. Qed.

Lemma gate_is_no_stricter t p tl v raised k :
  well_formed t -> incl p (workers t) -> kind_of tl = Calls v -> possible tl raised ->
  decide_in t p tl raised k <> Blocked -> milder (gate t p v) (decide_in t p tl raised k).
Proof.
  intros W P K [_ Q] N. rewrite K in Q. destruct Q as [Q _]. unfold gate, decide_in in *.
  assert (is_declared (declared tl) (calling v) = true) as D.
  { destruct (is_declared (declared tl) (calling v)) eqn:D; auto. exfalso. apply N. apply milder_antisym.
    - unfold milder; destruct (decide _ _ _ _); simpl; lia.
    - apply (in_opinions _ _ _ _ (calling v)); auto. unfold opinions. rewrite D. apply in_app_iff; left. now left. }
  apply milder_trans with (decide (authority_of t p) (declared tl) [calling v] nothing).
  - apply decide_le. intros c d [<-|[]] I. exists (calling v), d. split; [now left|]. split; [| apply milder_refl].
    unfold opinions in *. rewrite (delegate_declared (calling v) eq_refl) in I. now rewrite D.
  - apply (represented_is_no_stricter t); auto using authority_is_of_team.
    intros i [<-|[]]. split; auto. exists (calling v). split; auto using stands_for_itself.
Qed.

Lemma ways_first t fuel p g : In (p, g) (ways t fuel p g).
Proof. destruct fuel; now left. Qed.

Lemma ways_on t v u w tl fuel : forall p0 g0 p g,
  In (p, g) (ways t fuel p0 g0) -> length p < length p0 + fuel -> caller p = Some w -> In tl (tools w) ->
  kind_of tl = Calls v -> find_worker t v = Some u -> gate t p v <> Blocked ->
  In (u :: p, stricter_of g (gate t p v)) (ways t fuel p0 g0).
Proof.
  assert (forall w, In tl (tools w) -> kind_of tl = Calls v -> In v (delegates w)) as DL.
  { intros x I K. unfold delegates. apply in_flat_map. exists tl. rewrite K. split; auto. now left. }
  induction fuel as [|fuel IH]; intros p0 g0 p g I L C T K F G.
  - exfalso. destruct I as [I|I]; [injection I as <- <-; lia|]. destruct I.
  - destruct I as [I|I].
    + injection I as <- <-. right. rewrite C. apply in_flat_map. exists v. split; [eauto|].
      rewrite F. destruct (gate t p0 v) eqn:E; simpl; try congruence; apply ways_first.
    + right. revert I. destruct (caller p0) as [w0|]; [| intros []]. rewrite !in_flat_map. intros [v0 [V I]].
      exists v0. split; auto. revert I. cbv zeta. destruct (find_worker t v0) as [u0|]; [| intros []].
      destruct (is_blocked (gate t p0 v0)); [intros [] |]. intros I. apply IH; auto. simpl. lia.
Qed.

Lemma found_worker t n w : find_worker t n = Some w -> In w (workers t).
Proof. unfold find_worker. intros H. now apply find_some in H. Qed.

Lemma comes_incl t p d : comes t p d -> incl p (workers t).
Proof.
  induction 1; intros x; simpl; intros [<-|X]; try tauto; eauto using found_worker.
Qed.

Lemma stricter_of_le a b c d : milder a c -> milder b d -> milder (stricter_of a b) (stricter_of c d).
Proof. unfold milder, stricter_of, is_milder. destruct a, b, c, d; simpl; lia. Qed.

Lemma comes_by_a_way t p d : well_formed t -> comes t p d -> exists g, In (p, g) (all_ways t) /\ milder g d.
Proof.
  intros W H.
  assert (exists n w g, In n (starts t) /\ find_worker t n = Some w /\ In (p, g) (ways t (depth t) [w] Allowed) /\ milder g d)
    as [n [w [g [S [F [I M]]]]]].
  { induction H as [n w S F | p d w tl v u raised k H IH C T K F L Q N].
    - exists n, w, Allowed. repeat split; auto using ways_first, milder_refl.
    - destruct IH as [n [w0 [g [S [F0 [I M]]]]]].
      pose proof (gate_is_no_stricter t p tl v raised k W (comes_incl t p d H) K Q N) as G.
      exists n, w0, (stricter_of g (gate t p v)). repeat split; auto.
      + eapply ways_on; eauto.
        * simpl. lia.
        * intros E. rewrite E in G. apply N. apply milder_antisym; auto.
          unfold milder; destruct (decide_in t p tl raised k); simpl; lia.
      + now apply stricter_of_le. }
  exists g. split; auto. unfold all_ways. apply in_flat_map. exists n. rewrite F. auto.
Qed.

Lemma milder_of_le d e : milder (milder_of d e) d /\ milder (milder_of d e) e.
Proof. unfold milder, milder_of, is_milder. destruct d, e; simpl; lia. Qed.

Lemma with_row_keeps row d rows :
  (exists e, In (row, e) (with_row row d rows) /\ milder e d)
  /\ forall r x, In (r, x) rows -> exists e, In (r, e) (with_row row d rows) /\ milder e x.
Proof.
  induction rows as [|[r e] rows [IH1 IH2]]; simpl.
  - split; [exists d; split; auto; apply milder_refl | tauto].
  - destruct (cap_eqb r row) eqn:E.
    + apply cap_eqb_eq in E as ->. destruct (milder_of_le d e). split.
      * exists (milder_of d e). split; [now left | auto].
      * intros s x [H1|H1]; [injection H1 as <- <-; exists (milder_of d e); split; auto; now left |].
        exists x. split; [now right | apply milder_refl].
    + split.
      * destruct IH1 as [x [I M]]. exists x. split; [now right | auto].
      * intros s x [H1|H1]; [injection H1 as <- <-; exists e; split; [now left | apply milder_refl] |].
        destruct (IH2 s x H1) as [y [I M]]. exists y. split; [now right | auto].
Qed.

Lemma merged_keeps rows r d : In (r, d) rows -> exists e, In (r, e) (merged rows) /\ milder e d.
Proof.
  induction rows as [|[s x] rows IH]; simpl; [tauto|]. destruct (with_row_keeps s x (merged rows)) as [K1 K2].
  intros [H|H].
  - injection H as <- <-. exact K1.
  - destruct (IH H) as [e [I M]]. destruct (K2 r e I) as [y [J N]]. exists y. split; eauto using milder_trans.
Qed.

(** A wider row is shorter, so looking for a wider row comes to an end. *)
Definition size (c : capability) : nat :=
  length (cname c) + 2 * length (path (cscope c)) + (if below (cscope c) then 0 else 1).

Lemma prefix_length a b : prefix a b = true -> length a <= length b.
Proof. rewrite prefix_app. intros [c ->]. rewrite app_length. lia. Qed.

Lemma prefix_length_eq a b : prefix a b = true -> length b <= length a -> a = b.
Proof.
  rewrite prefix_app. intros [c ->]. rewrite app_length. destruct c; simpl; [now rewrite app_nil_r | lia].
Qed.

Lemma wider_is_shorter c d : contains c d = true -> cap_eqb c d = false -> size c < size d.
Proof.
  intros H N. apply contains_split in H as [H1 H2]. destruct c as [n [p b]], d as [m [q e]].
  unfold size, scope_contains in *. simpl in *. pose proof (prefix_length _ _ H1).
  assert (n = m /\ p = q /\ b = e -> False) as X.
  { intros [-> [-> ->]]. apply not_true_iff_false in N. apply N. now apply cap_eqb_eq. }
  destruct b.
  - pose proof (prefix_length _ _ H2).
    destruct (Nat.eq_dec (length n) (length m)), (Nat.eq_dec (length p) (length q)), e; try lia.
    exfalso. apply X. repeat split; auto; apply prefix_length_eq; auto; lia.
  - apply andb_true_iff in H2 as [E S]. apply negb_true_iff in E as ->. apply same_eq in S as ->.
    destruct (Nat.eq_dec (length n) (length m)); try lia.
    exfalso. apply X. repeat split; auto. apply prefix_length_eq; auto; lia.
Qed.

Lemma telling_covers known rows : forall n r d, size r < n -> In (r, d) rows ->
  exists row e, In (row, e) (telling known rows) /\ contains row r = true /\ milder e d.
Proof.
  induction n as [|n IH]; intros r d L I; [lia|].
  destruct (existsb (cap_eqb r) known
            || negb (existsb (fun y => contains (fst y) r && negb (cap_eqb (fst y) r) && is_milder (snd y) d) rows)) eqn:K.
  - exists r, d. split; [| split; auto using contains_refl, milder_refl]. apply filter_In. auto.
  - apply orb_false_iff in K as [_ K]. apply negb_false_iff, existsb_exists in K as [[s x] [J K]]. simpl in K.
    rewrite !andb_true_iff, negb_true_iff in K. destruct K as [[K1 K2] K3].
    pose proof (wider_is_shorter s r K1 K2).
    destruct (IH s x) as [row [e [A [B C]]]]; auto; [lia|].
    exists row, e. split; auto. split; [eapply contains_trans; eauto|]. apply is_milder_spec in K3. eauto using milder_trans.
Qed.

Lemma eased_le nm all x : milder (snd (eased nm all x)) (snd x)
  /\ forall b r d, In (b, (r, d)) all -> covers nm b r (fst x) = true -> milder (snd (eased nm all x)) d.
Proof.
  unfold eased. simpl. induction all as [|[b [r d]] all [IH1 IH2]]; simpl; [split; [apply milder_refl | tauto]|].
  destruct (covers nm b r (fst x)) eqn:E.
  - match goal with |- milder (milder_of d ?e) _ /\ _ => destruct (milder_of_le d e) as [L M] end. split.
    + eapply milder_trans; eauto.
    + intros b' r' d' [H|H] K; [injection H as <- <- <-; exact L | eapply milder_trans; eauto].
  - split; auto. intros b' r' d' [H|H] K; [injection H as <- <- <-; congruence | eauto].
Qed.

Lemma eased_keeps nm all rows r d :
  In (r, d) rows -> exists e, In (r, e) (map (eased nm all) rows) /\ milder e d.
Proof.
  intros I. exists (snd (eased nm all (r, d))). split; [| apply eased_le].
  apply in_map_iff. exists (r, d). auto.
Qed.

Lemma eased_from nm all x :
  snd (eased nm all x) = snd x
  \/ exists b r, In (b, (r, snd (eased nm all x))) all /\ covers nm b r (fst x) = true.
Proof.
  unfold eased. simpl. induction all as [|[b [r d]] all IH]; simpl; [now left|].
  destruct (covers nm b r (fst x)) eqn:E.
  - unfold milder_of. match goal with |- context [is_milder d ?e] => destruct (is_milder d e) end.
    + right. exists b, r. auto.
    + destruct IH as [IH|[b' [r' [IH K]]]]; [now left | right; exists b', r'; auto].
  - destruct IH as [IH|[b' [r' [IH K]]]]; [now left | right; exists b', r'; auto].
Qed.

(** * Theorems about reach *)

(** The decision at run time, gates on the way included, is never milder than what reach says: some row covers what is
    executed, and its decision is the same or milder. *)
Theorem never_milder_than_reach t c d :
  well_formed t -> executed t c d -> exists row e, In (row, e) (reach t) /\ contains row c = true /\ milder e d.
Proof.
  intros W [p [g [w [tl [raised [k [H [C [T [Q [I [N ->]]]]]]]]]]]].
  destruct (comes_by_a_way t p g W H) as [g' [A M]].
  assert (of_team t (authority_of t p)) as O by (apply authority_is_of_team; eapply comes_incl; eauto).
  assert (forall c, In c raised -> is_declared (declared tl) c = true) as DD.
  { intros x X. destruct (is_declared (declared tl) x) eqn:D; auto. exfalso. apply N. apply milder_antisym.
    - unfold milder; destruct (decide_in _ _ _ _ _); simpl; lia.
    - unfold decide_in. apply (in_opinions _ _ _ _ x); auto. unfold opinions. rewrite D. apply in_app_iff; left. now left. }
  assert (exists row reps, In (row, reps) (calls (named t) (names t) tl) /\ contains row c = true
          /\ forall i, In i reps -> is_declared (declared tl) i = true /\ exists c, In c raised /\ stands_for t i c)
    as [row [reps [B [R S]]]].
  { destruct Q as [QU Q].
    assert (forall x, In x raised -> exists d row i, In d (declared tl) /\ contains d x = true
              /\ In (row, i) (narrowed (named t) (names t) d)
              /\ contains row x = true /\ is_declared (declared tl) i = true /\ stands_for t i x) as REP.
    { intros x X. pose proof (DD x X) as D. unfold is_declared in D. apply andb_true_iff in D as [D1 D2].
      apply existsb_exists in D2 as [d [D2 D3]]. destruct (represented t d x W D3) as [row [i [R1 [R2 [R3 R4]]]]].
      exists d, row, i. repeat split; auto; try apply R4. unfold is_declared. apply andb_true_iff. split.
      - rewrite negb_true_iff. apply not_true_iff_false. intros E. apply same_eq in E.
        rewrite negb_true_iff in D1. apply not_true_iff_false in D1. apply D1. apply same_eq. apply QU; auto.
        rewrite <- E. apply (sf_name t i x R4).
      - apply existsb_exists. eauto. }
    unfold calls. destruct (kind_of tl) as [| | v] eqn:K.
    - subst raised. exists c, (declared tl). split; [apply in_map_iff; eauto | split; [apply contains_refl|]].
      intros i X. split; auto. exists i. auto using stands_for_itself.
    - destruct (REP c I) as [d [row [i [D1 [D2 [R1 [R2 [R3 R4]]]]]]]]. exists row, [i]. split; [| split; auto].
      + apply in_map_iff. exists (row, i). split; auto. apply in_flat_map. eauto.
      + intros j [<-|[]]. eauto.
    - destruct Q as [Q1 Q2]. destruct (calls_a_worker t v W) as [CR CS].
      assert (is_declared (declared tl) (instance_of (call_row (named t) v)) = true) as CD.
      { assert (In (of_name delegate) (declared tl)) as D.
        { apply (wf_calls t W w tl v); auto. apply (comes_incl t p g H). unfold caller in C.
          destruct p; simpl in C; [discriminate|]. injection C as ->. now left. }
        unfold is_declared, call_row. apply andb_true_iff.
        destruct (is_called (named t) v); split; try reflexivity; apply existsb_exists; exists (of_name delegate); auto. }
      destruct (Q2 c I) as [->|NC].
      + exists (call_row (named t) v), [instance_of (call_row (named t) v)]. split; [now left | split; auto].
        intros j [<-|[]]. eauto.
      + destruct (REP c I) as [d [row [i [D1 [D2 [R1 [R2 [R3 R4]]]]]]]].
        exists row, [i; instance_of (call_row (named t) v)]. split; [| split; auto].
        * right. apply in_map_iff. exists (row, i). split; auto. apply in_flat_map. exists d. split; auto.
          apply filter_In. split; auto. rewrite negb_true_iff. apply not_true_iff_false. intros E.
          apply cap_eqb_eq in E. subst d. apply contains_split in D2 as [D2 _]. simpl cname in D2. congruence.
        * intros j [<-|[<-|[]]]; eauto. }
  pose proof (represented_is_no_stricter t _ _ _ _ k W O S) as L.
  assert (In (row, stricter_of g' (decide (authority_of t p) (declared tl) reps nothing)) (found t)) as F.
  { apply (in_map snd _ (is_plain tl, _)). unfold found_by. apply in_flat_map. exists (p, g'). split; auto. simpl.
    rewrite C. apply in_flat_map. exists tl. split; auto. apply in_map_iff. exists (row, reps). auto. }
  destruct (merged_keeps _ _ _ F) as [x [X Y]].
  destruct (eased_keeps (named t) (found_by t) _ _ _ X) as [y [Z V]].
  destruct (telling_covers (flat_map (fun w => flat_map (stated (named t) (names t)) (tools w)) (workers t))
              (map (eased (named t) (found_by t)) (merged (found t))) (1 + size row) row y) as [r [e [E1 [E2 E3]]]];
    auto with arith.
  exists r, e. split; [exact E1|]. split; [eapply contains_trans; eauto|].
  eapply milder_trans; [exact E3|]. eapply milder_trans; [exact V|]. eapply milder_trans; [exact Y|].
  unfold decide_in. now apply stricter_of_le.
Qed.

Lemma comes_unblocked t p d : comes t p d -> d <> Blocked.
Proof.
  induction 1 as [| p d w tl v u raised k H IH C T K F L Q N]; [discriminate|].
  unfold stricter_of, is_milder. destruct d, (decide_in t p tl raised k); simpl in *; congruence.
Qed.

(** Whatever a run executes, by whatever answers, is in reach, and not as something blocked. *)
Theorem executed_is_within_reach t c d :
  well_formed t -> executed t c d -> exists row e, In (row, e) (reach t) /\ contains row c = true /\ e <> Blocked.
Proof.
  intros W H. destruct (never_milder_than_reach t c d W H) as [row [e [I [C M]]]].
  exists row, e. repeat split; auto. intros ->.
  destruct H as [p [g [w [tl [raised [k [H [_ [_ [_ [_ [N ->]]]]]]]]]]]]. pose proof (comes_unblocked t p g H).
  unfold milder, stricter_of, is_milder in M. destruct g, (decide_in t p tl raised k); simpl in *; congruence || lia.
Qed.

(** What is executed lies inside the ceiling of the entry and of every worker on the way to it. *)
Theorem ceilings_hold_along_the_way t p tl raised k c l most :
  decide_in t p tl raised k <> Blocked -> In c raised -> In l (entry t :: map restricts p) -> may l = Some most ->
  admits most c = true.
Proof.
  intros N I L M. apply (what_runs_is_inside_every_ceiling _ _ _ _ _ most N I).
  apply (in_ceilings_of (entry t :: map restricts p)). eauto.
Qed.

(** A layer that says more: rules, flow rules, or a ceiling where none was. *)
Definition restricts_more (l m : layer) : Prop :=
  incl (own l) (own m) /\ incl (own_flows l) (own_flows m) /\ (may l = None \/ may l = may m).

Definition with_entry (t : team) (l : layer) : team :=
  Team (manifest t) (fallback t) (tightening t) (team_flows t) (team_reads t) (team_bits t) (sources t) (depth t) l
       (starts t) (workers t).

(** A rule, a flow rule or a ceiling more, of the entry or of any worker on the way, never loosens any decision. *)
Theorem restricting_a_team_never_loosens t l p q declared raised k :
  restricts_more (entry t) l -> Forall2 (fun v w => restricts_more (restricts v) (restricts w)) p q ->
  milder (decide (authority_of t p) declared raised k) (decide (authority_of (with_entry t l) q) declared raised k).
Proof.
  intros E P. apply tightening_never_loosens.
  assert (restricts_more (own_layer p) (own_layer q)) as [O1 [O2 O3]].
  { destruct P as [|v w p q H P]; simpl; auto. repeat split; auto using incl_refl. }
  destruct E as [E1 [E2 E3]]. unfold tighter; cbn [base default reads layers ceilings flows authority_of with_entry entry manifest fallback team_flows
    team_reads tightening]. repeat split.
  - apply incl_app; [| apply incl_app]; auto using incl_appl, incl_appr, incl_refl.
  - intros m M. apply (in_ceilings_of (entry t :: map restricts p)) in M as [x [X Y]].
    apply (in_ceilings_of (l :: map restricts q)).
    destruct X as [<-|X]; [exists l; split; [now left | destruct E3; congruence] |].
    assert (exists y, In y (map restricts q) /\ may y = Some m) as [y [J K]].
    { clear - P X Y. induction P as [|v w p q [_ [_ H]] P IH]; simpl in *; [tauto|]. destruct X as [<-|X].
      - exists (restricts w). split; [now left | destruct H; congruence].
      - destruct (IH X) as [y [J K]]. exists y. auto. }
    exists y. split; [now right | auto].
  - apply incl_app; [| apply incl_app]; auto using incl_appl, incl_appr, incl_refl.
Qed.

Lemma with_row_from row d rows r e : In (r, e) (with_row row d rows) -> In (r, e) ((row, d) :: rows).
Proof.
  induction rows as [|[s x] rows IH]; simpl; [tauto|]. destruct (cap_eqb s row) eqn:E.
  - apply cap_eqb_eq in E as ->. intros [H|H]; [| now right; right]. injection H as <- <-.
    unfold milder_of. destruct (is_milder d x); auto.
  - intros [H|H]; [right; now left |]. destruct (IH H) as [H1|H1]; [now left | right; now right].
Qed.

Lemma merged_from rows r e : In (r, e) (merged rows) -> In (r, e) rows.
Proof.
  revert r e. induction rows as [|[s x] rows IH]; simpl; [tauto|]. intros r e H.
  apply with_row_from in H as [H|H]; auto.
Qed.

Lemma names_are_well t w tl d n :
  well_formed t -> In w (workers t) -> In tl (tools w) -> In d (declared tl) ->
  In n (narrower_names (names t) (cname d)) -> prefix undeclared n = true -> n = undeclared.
Proof.
  intros W I J D [<-|N] P.
  - apply (wf_names t W d); auto. right. exists w, tl. auto.
  - apply filter_In in N as [N _]. unfold names in N. apply in_app_iff in N as [N|N].
    + apply in_map_iff in N as [c [<- C]]. apply (wf_names t W c); auto.
    + simpl in N. intuition (subst; simpl in P; congruence || reflexivity).
Qed.

Lemma gate_of_a_call t p tl v :
  In (of_name delegate) (declared tl) -> decide_in t p tl [calling v] nothing = gate t p v.
Proof.
  intros D. unfold decide_in, gate, decide. simpl. rewrite !app_nil_r. unfold opinions. do 2 f_equal.
  rewrite (delegate_declared (calling v) eq_refl).
  replace (is_declared (declared tl) (calling v)) with true; auto. symmetry. unfold is_declared.
  apply andb_true_iff. split; auto. apply existsb_exists. exists (of_name delegate). auto.
Qed.

Lemma a_way_is_come_along t fuel : well_formed t -> forall p g q h,
  comes t p g -> length p + fuel <= 1 + depth t -> In (q, h) (ways t fuel p g) -> comes t q h.
Proof.
  intros W. induction fuel as [|fuel IH]; intros p g q h C L I.
  - destruct I as [I|[]]. now injection I as <- <-.
  - destruct I as [I|I]; [now injection I as <- <-|]. destruct (caller p) as [w|] eqn:E; [| destruct I].
    apply in_flat_map in I as [v [V I]]. cbv zeta in I. destruct (find_worker t v) as [u|] eqn:F; [| destruct I].
    destruct (is_blocked (gate t p v)) eqn:B; [destruct I|].
    unfold delegates in V. apply in_flat_map in V as [tl [T V]].
    destruct (kind_of tl) as [| |v'] eqn:K; [destruct V | destruct V |]. destruct V as [->|[]].
    assert (In w (workers t)) as WW.
    { apply (comes_incl t p g C). unfold caller in E. destruct p; simpl in E; [discriminate|].
      injection E as ->. now left. }
    pose proof (gate_of_a_call t p tl v (wf_calls t W w tl v WW T K)) as G.
    apply (IH (u :: p) (stricter_of g (gate t p v))); [| simpl; lia | exact I].
    rewrite <- G. apply (comes_on t p g w tl v u [calling v] nothing); auto; [lia | | rewrite G; now destruct (gate t p v)].
    split.
    + intros c [<-|[]]. simpl. discriminate.
    + rewrite K. split; [now left|]. intros c [<-|[]]. now left.
Qed.

(** No row is stricter than a call of a tool without a hook that counts for all of its scope. *)
Theorem no_row_is_stricter_than_what_covers_it t p g w tl c k row e :
  well_formed t -> comes t p g -> caller p = Some w -> In tl (tools w) -> kind_of tl = Plain -> In c (declared tl) ->
  decide_in t p tl (declared tl) k <> Blocked -> In (row, e) (reach t) ->
  cname c = cname row -> scope_contains (cscope c) (cscope row) = true ->
  milder e (stricter_of g (decide_in t p tl (declared tl) k)).
Proof.
  intros W H C T K D N I CN CS. destruct (comes_by_a_way t p g W H) as [g' [A M]].
  assert (of_team t (authority_of t p)) as O by (apply authority_is_of_team; eapply comes_incl; eauto).
  assert (milder (decide (authority_of t p) (declared tl) (declared tl) nothing) (decide_in t p tl (declared tl) k)) as L.
  { apply (represented_is_no_stricter t); auto. intros i X. split; [| exists i; auto using stands_for_itself].
    destruct (is_declared (declared tl) i) eqn:E; auto. exfalso. apply N. apply milder_antisym.
    - unfold milder; destruct (decide_in _ _ _ _ _); simpl; lia.
    - unfold decide_in. apply (in_opinions _ _ _ _ i); auto. unfold opinions. rewrite E. apply in_app_iff; left. now left. }
  assert (In (true, (c, stricter_of g' (decide (authority_of t p) (declared tl) (declared tl) nothing))) (found_by t)) as F.
  { unfold found_by. apply in_flat_map. exists (p, g'). split; auto. simpl. rewrite C. apply in_flat_map. exists tl.
    split; auto. apply in_map_iff. exists (c, declared tl). split.
    - unfold is_plain. now rewrite K.
    - unfold calls. rewrite K. apply in_map_iff. eauto. }
  unfold reach, telling in I. cbv zeta in I. apply filter_In in I as [I _]. apply in_map_iff in I as [x [X I]].
  pose proof (eased_le (named t) (found_by t) x) as [_ E].
  assert (milder e (stricter_of g' (decide (authority_of t p) (declared tl) (declared tl) nothing))) as Z.
  { specialize (E true c _ F). rewrite X in E. apply E. assert (fst x = row) as -> by now injection X.
    unfold covers. rewrite CS. rewrite (proj2 (same_eq _ _) CN). reflexivity. }
  eapply milder_trans; [exact Z|]. now apply stricter_of_le.
Qed.

(** Reach is exact, as far as declarations are: for each row that is not blocked some run executes a call in it, or one of
    a wider row that covers it, with just that decision; but for the rows of calls of workers, which are only never too
    strict. *)
Theorem a_row_is_what_some_run_does t row e :
  well_formed t -> In (row, e) (reach t) -> e <> Blocked ->
  exists wide, (wide = row \/ exists whole, covers (named t) whole wide row = true)
  /\ ((exists c, contains wide c = true /\ executed t c e)
      \/ exists w tl v, In tl (tools w) /\ kind_of tl = Calls v /\ In wide (map fst (calls (named t) (names t) tl))).
Proof.
  intros W I N. unfold reach, telling in I. cbv zeta in I. apply filter_In in I as [I _].
  apply in_map_iff in I as [x [X I]].
  assert (exists wide, (wide = row \/ exists whole, covers (named t) whole wide row = true) /\ In (wide, e) (found t))
    as [wide [Z F]].
  { assert (fst x = row) as Y by now injection X. destruct (eased_from (named t) (found_by t) x) as [E|[b [r [J K]]]].
    - exists row. split; auto. apply merged_from. rewrite X in E. simpl in E. destruct x. simpl in *. now subst.
    - rewrite X in J. simpl in J. rewrite Y in K. exists r. split; eauto. now apply (in_map snd _ (b, (r, e))). }
  exists wide. split; auto. clear x X I Z. revert wide F. intros row' I. clear row. rename row' into row.
  unfold found in I. apply in_map_iff in I as [[b [r0 e0]] [E I]]. simpl in E. injection E as -> ->.
  unfold found_by in I. cbv zeta in I. apply in_flat_map in I as [[p g] [P I]]. simpl in I.
  apply in_flat_map in I as [tl [T I]]. apply in_map_iff in I as [[r reps] [X I]]. simpl in X. injection X as <- <- <-.
  destruct (caller p) as [w|] eqn:C; [| destruct T].
  assert (comes t p g) as Z.
  { unfold all_ways in P. apply in_flat_map in P as [n [S P]]. destruct (find_worker t n) as [x|] eqn:F; [| destruct P].
    apply (a_way_is_come_along t (depth t) W [x] Allowed); auto. now apply (comes_first t n x). }
  assert (In w (workers t)) as WW.
  { apply (comes_incl t p g Z). unfold caller in C. destruct p; simpl in C; [discriminate|]. injection C as ->. now left. }
  assert (decide (authority_of t p) (declared tl) reps nothing <> Blocked) as D.
  { intros B. apply N. rewrite B. unfold stricter_of, is_milder. destruct g; reflexivity. }
  unfold calls in I. destruct (kind_of tl) as [| |v] eqn:K.
  - left. apply in_map_iff in I as [c [X J]]. injection X as <- <-. exists c. split; [apply contains_refl|].
    exists p, g, w, tl, (declared tl), nothing. repeat split; auto.
    + intros d Dd U. apply (wf_names t W d); auto. right. exists w, tl. auto.
    + now rewrite K.
  - left. apply in_map_iff in I as [[r' i] [X J]]. simpl in X. injection X as <- <-.
    apply in_flat_map in J as [d [Dd J]]. unfold narrowed in J. apply in_flat_map in J as [n [M J]].
    apply in_map_iff in J as [s [X J]]. injection X as <- <-.
    exists (Cap n (instance s)). split; [apply contains_split; simpl; auto using prefix_refl, instance_inside |].
    exists p, g, w, tl, [Cap n (instance s)], nothing. repeat split; auto; [| now rewrite K | now left].
    intros c [<-|[]]. simpl. now apply (names_are_well t w tl d).
  - right. exists w, tl, v. repeat split; auto. apply in_map_iff. exists (r, reps). split; auto. unfold calls. now rewrite K.
Qed.
