(* Reads one question a line, as proof/model.py writes them, and prints the model's answer to each. *)

open Model

(* The words of the line that are still to be read. *)
let words = ref []

let word () =
  match !words with
  | first :: rest -> words := rest; first
  | [] -> failwith "the line is too short"

let list item = List.init (int_of_string (word ())) (fun _ -> item ())
let flag () = word () = "1"
let name_of text = String.split_on_char '.' text
let name () = name_of (word ())

let scope_of text =
  let length = String.length text in
  if text = "**" then everywhere
  else if length >= 3 && String.sub text (length - 3) 3 = "/**" then
    { path = String.split_on_char '/' (String.sub text 0 (length - 3)); below = true }
  else { path = String.split_on_char '/' text; below = false }

let capability () =
  let text = word () in
  match String.index_opt text ':' with
  | None -> { cname = name_of text; cscope = everywhere }
  | Some at ->
      let scope = String.sub text (at + 1) (String.length text - at - 1) in
      { cname = name_of (String.sub text 0 at); cscope = scope_of scope }

let decision () =
  match word () with
  | "allowed" -> Allowed
  | "needs_approval" -> NeedsApproval
  | "blocked" -> Blocked
  | other -> failwith other

(* The fields of a record are read one after the other: OCaml says nothing about their order in an expression. *)
let rule () = let about = capability () in let says = decision () in { about; says }
let ceiling () = list capability

let flow () =
  let froms = list capability in
  let sink = capability () in
  let asks = decision () in
  let is_preset = flag () in
  let if_sent = flag () in
  { froms; sink; asks; is_preset; if_sent }

let layer () =
  let own = list rule in
  let may = match list ceiling with [] -> None | most :: _ -> Some most in
  let own_flows = list flow in
  let own_bits = int_of_string (word ()) in
  { own; may; own_flows; own_bits }

let tool () =
  let kind_of = match word () with "all" -> Plain | "any" -> Narrowed | _ -> Calls (word ()) in
  let speaks = flag () in
  let keeper = match word () with "-" -> None | toolset -> Some toolset in
  let declared = list capability in
  { declared; kind_of; speaks; keeper }

let handover () = match word () with "open" -> Open | "sealed" -> Sealed | bits -> Bits (int_of_string bits)

let worker () =
  let wname = word () in
  let restricts = layer () in
  let answers = handover () in
  let tools = list tool in
  { wname; restricts; tools; answers }

let source () = let read = capability () in let label = capability () in (read, label)

let team () =
  let manifest = list rule in
  let fallback = decision () in
  let tightening = list rule in
  let team_flows = list flow in
  let team_reads = list name in
  let team_bits = int_of_string (word ()) in
  let sources = list source in
  let depth = int_of_string (word ()) in
  let entry = layer () in
  let starts = list word in
  let workers = list worker in
  { manifest; fallback; tightening; team_flows; team_reads; team_bits; sources; depth; entry; starts; workers }

let said = function Allowed -> "allowed" | NeedsApproval -> "needs_approval" | Blocked -> "blocked"

let shown { cname; cscope } =
  let name = String.concat "." cname and path = String.concat "/" cscope.path in
  if cscope = everywhere then name else if cscope.below then name ^ ":" ^ path ^ "/**" else name ^ ":" ^ path

let decided () =
  let manifest = list rule in
  let default = decision () in
  let layers = list rule in
  let ceilings = list ceiling in
  let flows = list flow in
  let reads = list name in
  let declared = list capability in
  let raised = list capability in
  let labels = list capability in
  let sends = flag () in
  said (decide { base = base_rules manifest; default; layers; ceilings; flows; reads } declared raised { labels; sends })

let sorted rows = String.concat " " (List.sort compare rows)
let table rows = sorted (List.map (fun (row, decision) -> shown row ^ "=" ^ said decision) rows)

let labelled (name, labels) = name ^ "=" ^ String.concat "," (List.sort compare (List.map shown labels))

let of_team () =
  let untrusted_input = flag () in
  let t = team () in
  String.concat " | "
    [
      table (reach t);
      sorted (List.map labelled (labels_below t untrusted_input).of_workers);
      table (after_strangers t untrusted_input);
    ]

let vocabulary () =
  let names = List.map (String.concat ".") in
  String.concat " | "
    [
      sorted (List.map (fun { about; says } -> shown about ^ "=" ^ said says) built_in);
      sorted (names only_by_full_name);
      sorted (names outside_ceilings);
      sorted (names only_reads);
      sorted (names without_effect);
      sorted roots;
    ]

let answer = function
  | "decide" -> decided ()
  | "team" -> of_team ()
  | "vocabulary" -> vocabulary ()
  | other -> failwith other

let () =
  try
    while true do
      words := List.filter (fun text -> text <> "") (String.split_on_char ' ' (input_line stdin));
      print_string (answer (word ()));
      print_char '\n'
    done
  with End_of_file -> ()
