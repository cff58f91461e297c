(** The flow law: docs/flow.md; llmdo/policy/flow.py and llmdo/runtime/gate/labelling.py.

    Texts are terms that say what they were made of. So "chosen after a stranger's words" has a meaning of its own, apart
    from labels: the value of the term depends on what a stranger wrote. *)

From Coq Require Import String Bool Arith Lia List.
From llmdo Require Import Law Teams.
Import ListNotations.
Open Scope string_scope.
Open Scope nat_scope.
Open Scope list_scope.
Open Scope bool_scope.

(** * Labels of calls *)

(** A program that may do anything reads and writes any file; `_does_anything` *)
Definition does_anything (c : capability) : bool :=
  prefix ["proc"] (cname c) && negb (prefix ["proc"; "exec"; "read"] (cname c)).

(** What a call reads, by what it raises and by `[sources]`; names of files are what whoever wrote the files says. *)
Definition reading (srcs : list (capability * capability)) (raised : list capability) : list capability :=
  let read := raised ++ (if existsb does_anything raised then [of_name ["fs"; "read"]] else []) in
  let listed := map (fun c => Cap ["fs"; "read"] (cscope c)) (filter (fun c => same (cname c) ["fs"; "list"]) read) in
  read ++ map snd (filter (fun s => existsb (touches (fst s)) (read ++ listed)) srcs).

(** `Labelling.of`, where [fs] are the FROMs of all flow rules *)
Definition labels_of (fs : list capability) (srcs : list (capability * capability)) (raised : list capability) :=
  filter (fun l => existsb (touches l) (reading srcs raised)) fs.

(** Scopes of the capabilities by one of these names, or of a family of them *)
Definition scopes_by (ns : list name) (cs : list capability) : list scope :=
  map cscope (filter (fun c => existsb (fun n => prefix n (cname c) || prefix (cname c) n) ns) cs).

(** `read_by` *)
Definition read_scopes (raised : list capability) : list scope :=
  if existsb does_anything raised then [everywhere] else scopes_by [["fs"; "read"]; ["fs"; "list"]] raised.

(** `written_by`: for an unknown scope, whatever the tool may write *)
Definition written_scopes (raised declared : list capability) : list scope :=
  if existsb does_anything raised then [everywhere]
  else let ss := scopes_by [["fs"; "write"]; ["fs"; "delete"]] raised in
       if existsb (fun s => scope_contains s everywhere) ss then scopes_by [["fs"; "write"]; ["fs"; "delete"]] declared else ss.

(** `scopes_meet` *)
Definition meets (s u : scope) : bool := scope_contains s u || scope_contains u s.

Definition all_froms (t : team) : list capability := flat_map froms (all_flows t).

(** A delegate's answer as its caller gets it: closed, if it carries no more bits than the caller admits. *)
Definition handed (t : team) (p : way) (callee : worker) : handover :=
  match answers callee with
  | Bits n =>
      if n <=? Nat.min (team_bits t) (Nat.min (own_bits (entry t)) (own_bits (own_layer p))) then Bits n else Open
  | other => other
  end.

(** * Reach of labels; llmdo/reach/flows.py *)

(** What a call reads and writes, by the capability that says so. *)
Definition reads_of (raised : list capability) : list capability :=
  flat_map (fun c => map (Cap (cname c)) (read_scopes [c])) raised.
Definition writes_of (raised declared : list capability) : list capability :=
  flat_map (fun c => map (Cap (cname c)) (written_scopes [c] declared)) raised.

(** `Shapes.share_a_file`: a representative stands for all of its class, so for no file of a narrower one. *)
Definition is_fresh (s : scope) : bool := negb (below s) && String.eqb (last (path s) "") fresh.
Definition whole (s : scope) : scope := if is_fresh s then Scope (removelast (path s)) true else s.

Definition represents (nm : list capability) (c : capability) (file : scope) : bool :=
  let w := whole (cscope c) in
  scope_contains w file
  && negb (is_fresh (cscope c)
           && existsb (fun d => prefix (cname d) (cname c) && scope_contains w (cscope d)
                                && negb (scope_contains (cscope d) w) && scope_contains (cscope d) file) nm).

Definition share_a_file (nm : list capability) (c d : capability) : bool :=
  let s := whole (cscope c) in
  let u := whole (cscope d) in
  let file := instance (if scope_contains s u then u else s) in
  meets s u && represents nm c file && represents nm d file.

Definition by_name {A} (n : string) (l : list (string * list A)) : list A :=
  flat_map (fun x => if String.eqb (fst x) n then snd x else []) l.

Definition unite (a b : list capability) : list capability :=
  fold_right (fun l acc => if carries acc l then acc else l :: acc) a b.

Definition unions {A} (f : A -> list capability) (l : list A) : list capability :=
  fold_right (fun x acc => unite (f x) acc) [] l.

Fixpoint with_labels (c : capability) (ls : list capability) (files : list (capability * list capability)) :=
  match files with
  | [] => [(c, ls)]
  | (d, ms) :: more => if cap_eqb d c then (d, unite ls ms) :: more else (d, ms) :: with_labels c ls more
  end.

(** The labels that calls of each worker may carry by their end, and what they leave in files and toolsets. *)
Record spread := Spread {
  of_workers : list (string * list capability);
  of_files : list (capability * list capability); (* by what wrote them *)
  of_toolsets : list (string * list capability);
}.

Definition strangers (fs : list capability) : list capability := filter is_strange fs.

(** The workers that some way leads to, each once, and the mildest decision over the delegations to it. *)
Definition found_workers (t : team) : list (worker * decision) :=
  flat_map (fun w =>
    match flat_map (fun x => match caller (fst x) with
                             | Some v => if String.eqb (wname v) (wname w) then [snd x] else []
                             | None => []
                             end) (all_ways t) with
    | [] => []
    | d :: ds => [(w, fold_right milder_of d ds)]
    end) (workers t).

(** A worker's calls that nothing blocks but what was read, or a ceiling further up. *)
Definition open_calls (t : team) (nm : list capability) (ns : list name) (w : worker) :
    list (tool * (capability * list capability)) :=
  flat_map (fun tl =>
    map (fun call => (tl, call))
        (filter (fun call => negb (is_blocked (decide (authority_of t [w]) (declared tl) (snd call) nothing))) (calls nm ns tl)))
  (tools w).

Definition open_delegates (t : team) (w : worker) : list worker :=
  flat_map (fun v => if is_blocked (gate t [w] v) then [] else match find_worker t v with Some u => [u] | None => [] end)
           (delegates w).

Section Spreading.

Variable t : team.
Variable nm fs : list capability.
Variable all : list (worker * list (tool * (capability * list capability))).
Variable first : list (string * list capability).

Definition mine (s : spread) (w : worker) : list capability := by_name (wname w) (of_workers s).

(** What a worker's calls bring, what its toolsets say, what its delegates hand over, and what its callers hand it. *)
Definition from_calls (s : spread) (calls : list (tool * (capability * list capability))) : list capability :=
  unions (fun call =>
    labels_of fs (sources t) (snd (snd call))
    ++ unions (fun f => if existsb (share_a_file nm (fst f)) (reads_of (snd (snd call))) then snd f else []) (of_files s))
  calls.

Definition from_toolsets (s : spread) (w : worker) : list capability :=
  unions (fun tl =>
    (if speaks tl then labels_of fs (sources t) (declared tl) else [])
    ++ match keeper tl with Some k => by_name k (of_toolsets s) | None => [] end) (tools w).

Definition from_delegates (s : spread) (w : worker) : list capability :=
  unions (fun u =>
    match handed t [w] u with
    | Bits _ => filter (fun l => negb (is_strange l)) (mine s u)
    | _ => mine s u
    end) (open_delegates t w).

Definition from_callers (s : spread) (w : worker) : list capability :=
  unions (fun x =>
    if existsb (fun u => String.eqb (wname u) (wname w)) (open_delegates t (fst x)) then mine s (fst x) else []) all.

(** One look at each worker, and what it leaves behind. *)
Definition spread_once (s : spread) : spread :=
  Spread
    (map (fun x =>
       let w := fst x in
       (wname w, unite (unite (unite (unite (unite (mine s w) (by_name (wname w) first)) (from_calls s (snd x)))
                                     (from_toolsets s w)) (from_delegates s w)) (from_callers s w))) all)
    (fold_right (fun f acc => with_labels (fst f) (snd f) acc) []
       (flat_map (fun x => flat_map (fun call =>
          map (fun u => (u, mine s (fst x))) (writes_of (snd (snd call)) (declared (fst call)))) (snd x)) all))
    (flat_map (fun x => flat_map (fun tl =>
       match keeper tl with Some k => [(k, mine s (fst x))] | None => [] end) (tools (fst x))) all).

(** Whether the labels of workers in [next] are all in [s]. *)
Definition settled (s next : spread) : bool :=
  forallb (fun x => forallb (carries (by_name (fst x) (of_workers s))) (snd x)) (of_workers next).

(** The fixed point: labels only grow, and each round of two adds one or is the last. Were there ever too few rounds,
    every label would be said. *)
Fixpoint spreading (fuel : nat) (s : spread) : spread :=
  match fuel with
  | 0 => Spread (map (fun x => (wname (fst x), fs)) all) [] []
  | S less => let next := spread_once (spread_once s) in if settled s next then next else spreading less next
  end.

End Spreading.

Definition all_open (t : team) := 
  let nm := named t in let ns := names t in
  map (fun x => (fst x, open_calls t nm ns (fst x))) (found_workers t).

Definition froms_looked_for (t : team) : list capability := of_name untrusted :: all_froms t.

(** `_Spread`: labels of workers, where the input may be a stranger's. *)
Definition labels_below (t : team) (untrusted_input : bool) : spread :=
  let fs := unite [] (froms_looked_for t) in
  let all := all_open t in
  let first := if untrusted_input then map (fun n => (n, labels_of fs (sources t) [of_name untrusted])) (starts t) else [] in
  spreading t (named t) fs all first (2 + length all * length fs) (Spread [] [] []).

Definition is_effect (t : team) (c : capability) : bool :=
  negb (existsb (fun n => prefix n (cname c)) (without_effect ++ team_reads t)).

(** `after_strangers`: the effects of those that may have read a stranger's words, each with its mildest decision. *)
Definition after_strangers (t : team) (untrusted_input : bool) : list (capability * decision) :=
  let s := labels_below t untrusted_input in
  let fs := unite [] (froms_looked_for t) in
  let nm := named t in let ns := names t in
  merged (flat_map (fun x =>
    if carries (by_name (wname (fst x)) (of_workers s)) (of_name untrusted) then
      flat_map (fun c =>
        if is_effect t (fst (snd c)) then
          [(fst (snd c), stricter_of (snd x) (decide (authority_of t [fst x]) (declared (fst c)) (snd (snd c))
                                                     (Carried (strangers fs) true)))]
        else []) (open_calls t nm ns (fst x))
    else []) (found_workers t)).

(** * Texts *)

Inductive text :=
| Said (n : nat) (* by somebody who is trusted: a prompt, an input, a tool's own words *)
| Stranger (n : nat) (* by a stranger *)
| Made (n : nat) (from : list text) (* anything that a model, or code, makes of texts *)
| ClosedOf (n : nat) (from : list text) (* one of the values that a closed type lists or bounds *)
| NameOf (n : nat) (from : list text). (* the name and size of a sealed text *)

(** Whether a stranger's words may have gone into a text, other than as a closed value or a seal's name. *)
Fixpoint strange (x : text) : bool :=
  match x with
  | Stranger _ => true
  | Made _ from => existsb strange from
  | Said _ | ClosedOf _ _ | NameOf _ _ => false
  end.

(** What a text says: [words] are those of strangers, [make] is how models and code work, and [closed] and [named] are
    the closed answers and the names that were handed over. *)
Fixpoint value {V} (said words : nat -> V) (make : nat -> list V -> V) (closed named : nat -> V) (x : text) : V :=
  match x with
  | Said n => said n
  | Stranger n => words n
  | Made n from => make n (map (value said words make closed named) from)
  | ClosedOf n _ => closed n
  | NameOf n _ => named n
  end.

(** * Runs *)

Notation labelset := (list capability) (only parsing).

Record seal := Seal { inside : text; seal_labels : labelset }.

(** The messages of one call of a worker, with the seals that it was handed. *)
Record context := Context {
  at_way : way; (* its worker first *)
  parent : option nat;
  history : list text;
  context_labels : labelset;
  seals : list seal;
}.

(** A call that a model has chosen: its tool and all that it wrote are one text. *)
Record call := Call {
  by_context : nat;
  with_tool : tool;
  raises : list capability;
  chosen : text;
  under : labelset; (* the labels of the context, when the model was asked *)
  in_targets : list seal;
  elsewhere : list seal;
  is_sent : bool;
}.

Record state := State {
  contexts : nat -> option context;
  pending : list call;
  files : list (scope * (text * labelset)); (* every write so far: labels of files only grow *)
  kept : list (string * (text * labelset)); (* whatever toolsets were given *)
}.

Definition set_context (s : state) (i : nat) (c : context) : state :=
  State (fun j => if j =? i then Some c else contexts s j) (pending s) (files s) (kept s).

(** A context that hears a text. *)
Definition hears (c : context) (x : text) (ls : labelset) (more : list seal) : context :=
  Context (at_way c) (parent c) (history c ++ [x]) (context_labels c ++ ls) (seals c ++ more).

(** Clause 3: what a stranger wrote counts where it chose, in the context or a target; all else wherever it stands. *)
Definition carried_by (x : call) : carried :=
  Carried (under x ++ flat_map seal_labels (in_targets x)
           ++ filter (fun l => negb (is_strange l)) (flat_map seal_labels (elsewhere x))) (is_sent x).

(** The gate. A sealed text in a target asks (clause 5). *)
Definition judged (t : team) (p : way) (x : call) : decision :=
  stricter_of (decide_in t p (with_tool x) (raises x) (carried_by x))
              (match in_targets x with [] => Allowed | _ => NeedsApproval end).

Section Run.

Variable t : team.

Definition brings (raised : list capability) : bool :=
  existsb (fun c => cap_eqb c (of_name untrusted)) (reading (sources t) raised).

(** What a call that runs is made of, and the labels of that. *)
Definition files_read (s : state) (raised : list capability) : list (text * labelset) :=
  map snd (filter (fun f => existsb (meets (fst f)) (read_scopes raised)) (files s)).

Definition kept_by (s : state) (tl : tool) : list (text * labelset) :=
  match keeper tl with Some k => map snd (filter (fun f => String.eqb (fst f) k) (kept s)) | None => [] end.

Definition sealed_in (x : call) : list seal := in_targets x ++ elsewhere x.

Definition ingredients (s : state) (x : call) (words : list nat) : list text :=
  chosen x :: map inside (sealed_in x) ++ map Stranger words
  ++ map fst (files_read s (raises x)) ++ map fst (kept_by s (with_tool x)).

Definition labels_after (s : state) (x : call) : labelset :=
  under x ++ flat_map seal_labels (sealed_in x) ++ labels_of (all_froms t) (sources t) (raises x)
  ++ flat_map snd (files_read s (raises x)) ++ flat_map snd (kept_by s (with_tool x)).

(** Files and toolsets after a call: what they may have been given carries all that its code came upon. *)
Definition leaves_behind (s : state) (x : call) (r : text) (ls : labelset) : state :=
  State (contexts s) (pending s)
        (map (fun u => (u, (r, ls))) (written_scopes (raises x) (declared (with_tool x))) ++ files s)
        (match keeper (with_tool x) with Some k => [(k, (r, ls))] | None => [] end ++ kept s).

(** One step of a run; steps of several contexts follow in any order. A stranger's words come only with a call that
    raises `data.untrusted`, or what `[sources]` says so of: tools do what they declare. *)
Inductive step (s : state) : state -> Prop :=
| choose i c w tl raised n targets others sent :
    contexts s i = Some c -> caller (at_way c) = Some w -> In tl (tools w) -> possible tl raised ->
    incl targets (seals c) -> incl others (seals c) ->
    step s (State (contexts s)
                  (Call i tl raised (Made n (history c)) (context_labels c) targets others sent :: pending s)
                  (files s) (kept s))
| run_tool x c n words :
    In x (pending s) -> contexts s (by_context x) = Some c -> judged t (at_way c) x <> Blocked ->
    (forall v, kind_of (with_tool x) <> Calls v) -> (brings (raises x) = false -> words = []) ->
    let r := Made n (ingredients s x words) in
    let ls := labels_after s x in
    step s (set_context (leaves_behind s x r ls) (by_context x) (hears c r ls []))
| call_worker x c n words v u j :
    In x (pending s) -> contexts s (by_context x) = Some c -> judged t (at_way c) x <> Blocked ->
    kind_of (with_tool x) = Calls v -> find_worker t v = Some u -> contexts s j = None -> length (at_way c) <= depth t ->
    (brings (raises x) = false -> words = []) ->
    step s (set_context s j (Context (u :: at_way c) (Some (by_context x)) [Made n (ingredients s x words)]
                                     (labels_after s x) []))
| answer_openly i j c d u n :
    contexts s j = Some d -> parent d = Some i -> contexts s i = Some c -> caller (at_way d) = Some u ->
    handed t (at_way c) u = Open ->
    step s (set_context s i (hears c (Made n (history d)) (context_labels d) []))
| answer_closed i j c d u n bits :
    contexts s j = Some d -> parent d = Some i -> contexts s i = Some c -> caller (at_way d) = Some u ->
    handed t (at_way c) u = Bits bits ->
    step s (set_context s i (hears c (ClosedOf n (history d))
                                   (filter (fun l => negb (is_strange l)) (context_labels d)) []))
| answer_sealed i j c d u n :
    contexts s j = Some d -> parent d = Some i -> contexts s i = Some c -> caller (at_way d) = Some u ->
    handed t (at_way c) u = Sealed ->
    step s (set_context s i (hears c (NameOf n (history d)) [] [Seal (Made n (history d)) (context_labels d)]))
| hear_a_toolset i c w tl n words :
    contexts s i = Some c -> caller (at_way c) = Some w -> In tl (tools w) -> speaks tl = true ->
    (brings (declared tl) = false -> words = []) ->
    step s (set_context s i (hears c (Made n (map Stranger words)) (labels_of (all_froms t) (sources t) (declared tl)) []))
| hear_the_gate i c n : (* a refusal, or that a closed or sealed worker failed *)
    contexts s i = Some c -> step s (set_context s i (hears c (Said n) [] [])).

(** A run begins with one worker and an input, which may be a stranger's where the entry says so. *)
Definition begins (w : worker) (untrusted_input : bool) : state :=
  State (fun j => if j =? 0 then Some (Context [w] None [if untrusted_input then Stranger 0 else Said 0]
                                  (if untrusted_input then labels_of (all_froms t) (sources t) [of_name untrusted] else []) [])
                  else None) [] [] [].

Inductive leads (first : state) : state -> Prop :=
| at_first : leads first first
| after s s' : leads first s -> step s s' -> leads first s'.

Definition reachable (s : state) : Prop := exists w u, leads (begins w u) s.

(** * Proofs *)

(** [l] is a FROM about strangers' words of some flow rule. *)
Definition about_strangers (l : capability) : Prop :=
  In l (all_froms t) /\ is_strange l = true /\ contains l (of_name untrusted) = true.

Definition has (l : capability) (ls : labelset) : Prop := carries ls l = true.

Lemma has_in l ls : has l ls <-> In l ls.
Proof.
  unfold has, carries. rewrite existsb_exists. split.
  - intros [x [I E]]. apply cap_eqb_eq in E as ->. exact I.
  - intros I. exists l. split; auto. now apply cap_eqb_eq.
Qed.

Lemma has_app l a b : has l (a ++ b) <-> has l a \/ has l b.
Proof. rewrite !has_in. apply in_app_iff. Qed.

Lemma brings_labels l raised : about_strangers l -> brings raised = true -> has l (labels_of (all_froms t) (sources t) raised).
Proof.
  intros [I [_ C]] B. apply has_in. unfold labels_of. apply filter_In. split; auto.
  unfold brings in B. apply existsb_exists in B as [c [R E]]. apply cap_eqb_eq in E as ->.
  apply existsb_exists. exists (of_name untrusted). split; auto using contains_touches.
Qed.

(** Texts are labelled where they are strange. *)
Definition tracked (l : capability) (x : text) (ls : labelset) : Prop := strange x = true -> has l ls.

Record safe (l : capability) (s : state) : Prop := {
  safe_history : forall i c x, contexts s i = Some c -> In x (history c) -> tracked l x (context_labels c);
  safe_seals : forall i c y, contexts s i = Some c -> In y (seals c) -> tracked l (inside y) (seal_labels y);
  safe_pending : forall x, In x (pending s) ->
    tracked l (chosen x) (under x) /\ forall y, In y (sealed_in x) -> tracked l (inside y) (seal_labels y);
  safe_files : forall u x ls, In (u, (x, ls)) (files s) -> tracked l x ls;
  safe_kept : forall k x ls, In (k, (x, ls)) (kept s) -> tracked l x ls;
}.

Lemma tracked_made l n from ls : (forall x, In x from -> tracked l x ls) -> tracked l (Made n from) ls.
Proof. intros H S. simpl in S. apply existsb_exists in S as [x [I E]]. now apply (H x I). Qed.

Lemma tracked_more l x a b : tracked l x a \/ tracked l x b -> tracked l x (a ++ b).
Proof. intros [H|H] S; apply has_app; auto. Qed.

Lemma in_flat_snd l (fs : list (text * labelset)) x ls : In (x, ls) fs -> has l ls -> has l (flat_map snd fs).
Proof. rewrite !has_in. intros I H. apply in_flat_map. exists (x, ls). auto. Qed.

Lemma made_is_tracked l s x n words :
  about_strangers l -> safe l s -> In x (pending s) -> (brings (raises x) = false -> words = []) ->
  tracked l (Made n (ingredients s x words)) (labels_after s x).
Proof.
  intros A S P B. apply tracked_made. intros y Y St. unfold labels_after. rewrite !has_app.
  destruct (safe_pending l s S x P) as [P1 P2]. unfold ingredients in Y. destruct Y as [<-|Y]; [left; auto|].
  rewrite !in_app_iff in Y. destruct Y as [Y|[Y|[Y|Y]]].
  - right; left. apply in_map_iff in Y as [z [<- Z]]. specialize (P2 z Z St). rewrite has_in in *.
    apply in_flat_map. eauto.
  - right; right; left. destruct (brings (raises x)) eqn:E; [now apply brings_labels|]. now rewrite B in Y.
  - right; right; right; left. apply in_map_iff in Y as [[z ls] [<- Z]]. apply (in_flat_snd l _ z ls Z).
    unfold files_read in Z. apply in_map_iff in Z as [[u f] [E Z]]. simpl in E. subst f.
    apply filter_In in Z as [Z _]. now apply (safe_files l s S u z ls Z).
  - right; right; right; right. apply in_map_iff in Y as [[z ls] [<- Z]]. apply (in_flat_snd l _ z ls Z).
    unfold kept_by in Z. destruct (keeper (with_tool x)); [| destruct Z].
    apply in_map_iff in Z as [[u f] [E Z]]. simpl in E. subst f.
    apply filter_In in Z as [Z _]. now apply (safe_kept l s S u z ls Z).
Qed.

Lemma safe_hears l s i c x ls more :
  safe l s -> contexts s i = Some c -> tracked l x ls -> (forall y, In y more -> tracked l (inside y) (seal_labels y)) ->
  safe l (set_context s i (hears c x ls more)).
Proof.
  intros S C X M. split; simpl; try apply S.
  - intros j d y D Y. destruct (j =? i).
    + injection D as <-. simpl in *. apply in_app_iff in Y as [Y|[<-|[]]]; apply tracked_more; auto.
      left. now apply (safe_history l s S i c).
    + now apply (safe_history l s S j d).
  - intros j d y D Y. destruct (j =? i).
    + injection D as <-. simpl in *. apply in_app_iff in Y as [Y|Y]; auto. now apply (safe_seals l s S i c).
    + now apply (safe_seals l s S j d).
Qed.

Lemma safe_step l s s' : about_strangers l -> safe l s -> step s s' -> safe l s'.
Proof.
  intros A S H. destruct H as
    [i c w tl raised n targets others sent C W T Q I1 I2 | x c n words P C J K B r ls | x c n words v u j P C J K F N L B
    | i j c d u n D P C U E | i j c d u n bits D P C U E | i j c d u n D P C U E | i c w tl n words C W T SP B | i c n C].
  - split; simpl; try apply S. intros x [<-|X]; [| now apply S]. simpl. split.
    + apply tracked_made. intros y Y. now apply (safe_history l s S i c).
    + unfold sealed_in; simpl. intros y Y. apply (safe_seals l s S i c); auto.
      apply in_app_iff in Y as [Y|Y]; auto.
  - assert (tracked l r ls) as R by now apply made_is_tracked.
    apply safe_hears; auto; [| intros y []]. split; simpl; try apply S.
    + intros u y m Y. apply in_app_iff in Y as [Y|Y]; [| now apply (safe_files l s S u)].
      apply in_map_iff in Y as [z [Z _]]. injection Z as _ <- <-. exact R.
    + intros k y m Y. apply in_app_iff in Y as [Y|Y]; [| now apply (safe_kept l s S k)].
      destruct (keeper (with_tool x)); [| destruct Y]. destruct Y as [Y|[]]. injection Y as _ <- <-. exact R.
  - split; simpl; try apply S.
    + intros k d y D Y. destruct (k =? j); [| now apply (safe_history l s S k d)].
      injection D as <-. simpl in *. destruct Y as [<-|[]]. now apply made_is_tracked.
    + intros k d y D Y. destruct (k =? j); [| now apply (safe_seals l s S k d)]. injection D as <-. destruct Y.
  - apply safe_hears; auto; [| intros y []]. apply tracked_made. intros y Y. now apply (safe_history l s S j d).
  - apply safe_hears; auto; [intros X; discriminate | intros y []].
  - apply safe_hears; auto; [intros X; discriminate |]. intros y [<-|[]]. simpl. apply tracked_made.
    intros y Y. now apply (safe_history l s S j d).
  - apply safe_hears; auto; [| intros y []]. intros X. simpl in X.
    destruct (brings (declared tl)) eqn:E; [now apply brings_labels|]. rewrite B in X; auto. discriminate.
  - apply safe_hears; auto; [intros X; discriminate | intros y []].
Qed.

Lemma runs_are_safe l s : about_strangers l -> reachable s -> safe l s.
Proof.
  intros A [w [u H]]. induction H as [| s s' H IH N].
  - split; simpl; try tauto.
    + intros i c x C X. destruct (i =? 0); [| discriminate]. injection C as <-. simpl in *.
      destruct X as [<-|[]]. destruct u; intros S; [| discriminate].
      now apply brings_labels.
    + intros i c y C Y. destruct (i =? 0); [| discriminate]. injection C as <-. destruct Y.
  - now apply (safe_step l s).
Qed.

Lemma value_of_what_is_not_strange {V} said words words' (make : nat -> list V -> V) closed named x :
  strange x = false -> value said words make closed named x = value said words' make closed named x.
Proof.
  revert x. fix IH 1. intros [n|n|n from|n from|n from]; simpl; intros H; try reflexivity; try discriminate.
  f_equal. induction from as [|y from IHf]; simpl in *; auto.
  apply orb_false_iff in H as [H1 H2]. f_equal; auto.
Qed.

(** The flow rule [f] is about [c], one of the capabilities that the call raises. *)
Definition is_about (f : flow) (p : way) (x : call) (c : capability) : Prop :=
  In f (flows (authority_of t p)) /\ In c (raises x)
  /\ (touches (sink f) c || (is_for_own f && is_of_extension c)) = true
  /\ (is_preset f && existsb (fun n => prefix n (cname c)) (team_reads t)) = false
  /\ (if_sent f && negb (is_sent x)) = false
  /\ forall s, In s (froms f) -> about_strangers s \/ counts (raises x) (carried_by x) s = true.

(** No effect is chosen after a stranger's words without the decision that the flow rule asks for: of any call that a
    model has chosen in any run, and any flow rule about it, either the decision is as strict as the rule says, or what
    the model wrote is the same whatever strangers wrote, as long as the same closed answers and seals were handed over. *)
Theorem no_effect_is_chosen_after_a_strangers_words s x c f :
  reachable s -> In x (pending s) ->
  forall ctx, contexts s (by_context x) = Some ctx -> is_about f (at_way ctx) x c ->
  milder (asks f) (judged t (at_way ctx) x)
  \/ forall V (said words words' : nat -> V) make closed named,
       value said words make closed named (chosen x) = value said words' make closed named (chosen x).
Proof.
  intros H P ctx C [F [I [T [R [N A]]]]].
  destruct (strange (chosen x)) eqn:S; [left | right; intros; now apply value_of_what_is_not_strange].
  unfold judged. eapply milder_trans; [| apply (proj1 (proj1 (stricter_of_spec _ _ _) (milder_refl _)))]. unfold decide_in.
  apply (in_opinions _ _ _ _ c); auto. unfold opinions. apply in_app_iff; right. apply in_map_iff. exists f. split; auto.
  apply filter_In. split; auto. unfold flows_in.
  change (reads (authority_of t (at_way ctx))) with (team_reads t).
  change (sends (carried_by x)) with (is_sent x). rewrite T, R, N. simpl.
  apply forallb_forall. intros l L. destruct (A l L) as [B|B]; auto.
  destruct (safe_pending l s (runs_are_safe l s B H) x P) as [Q _].
  unfold counts. apply orb_true_iff. left. specialize (Q S). unfold has in Q. unfold carried_by; simpl.
  apply has_app. now left.
Qed.

(** A sealed text says to whom or on what a tool acts only after a question. *)
Theorem a_sealed_target_asks p x : in_targets x <> [] -> milder NeedsApproval (judged t p x).
Proof.
  intros N. unfold judged. destruct (in_targets x); [congruence|].
  unfold stricter_of, is_milder, milder. destruct (decide_in _ _ _ _ _); simpl; lia.
Qed.

End Run.

(** * The team of the README: what the definitions say of it *)

Definition no_layer := Layer [] None [] 256.

Definition deputy (ceiling_of_entry : option ceiling) (flows_of_team : list flow) (reader : handover) : team :=
  Team [Rule (of_name ["proc"; "exec"]) Allowed] NeedsApproval [] flows_of_team [] 256 [] 5
    (Layer [] ceiling_of_entry [] 256) ["triage"]
    [Worker "triage" no_layer [Tool [of_name delegate] (Calls "tracker") false None;
                               Tool [of_name delegate] (Calls "releaser") false None] Open;
     Worker "tracker" no_layer [Tool [of_name untrusted] Plain false None] reader;
     Worker "releaser" no_layer [Tool [of_name ["proc"; "exec"]] Plain false None] Open].

Definition row_of (c : capability) (rows : list (capability * decision)) : option decision :=
  option_map snd (find (fun x => cap_eqb (fst x) c) rows).

Definition command := of_name ["proc"; "exec"].
Definition after_words := Flow [of_name untrusted] command NeedsApproval false false.

Example it_reaches_a_command : row_of command (reach (deputy None [] Open)) = Some Allowed.
Proof. reflexivity. Qed.

Example a_ceiling_cuts_it_off : row_of command (reach (deputy (Some [of_name untrusted]) [] Open)) = Some Blocked.
Proof. reflexivity. Qed.

Example a_flow_rule_asks : row_of command (after_strangers (deputy None [after_words] Open) false) = Some NeedsApproval.
Proof. reflexivity. Qed.

Example a_closed_reader_is_no_way_in : row_of command (after_strangers (deputy None [after_words] (Bits 2)) false) = None.
Proof. reflexivity. Qed.
