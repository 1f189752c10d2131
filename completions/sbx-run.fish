# SPDX-License-Identifier: Apache-2.0
# fish completion for sbx-run: verbs, options, their values, then the command to run.

set -l verbs run exec call start status output stdin wait kill list reset check explain doctor profile schema tool serve mcp
set -l running run exec call start check explain tool serve mcp
set -l tasks status output stdin wait kill list reset
set -l tools bash bash_output kill_shell shell bash_exec execute_command code_execution
set -l first "not __fish_seen_subcommand_from $verbs"
set -l run "__fish_seen_subcommand_from $running; or not __fish_seen_subcommand_from $verbs"

function __sbx_run_profiles
    sbx-run profile list 2>/dev/null | string replace -r ' .*' ''
end

complete -c sbx-run -n "$first" -f -a run -d 'Run, answer in JSON (the default)'
complete -c sbx-run -n "$first" -f -a exec -d 'Run on the own stdin, stdout and stderr'
complete -c sbx-run -n "$first" -f -a call -d 'One method, parameters as JSON'
complete -c sbx-run -n "$first" -f -a start -d 'Start a background task'
complete -c sbx-run -n "$first" -f -a status -d 'State of a task'
complete -c sbx-run -n "$first" -f -a output -d 'New output of a task'
complete -c sbx-run -n "$first" -f -a stdin -d 'Write to a task'
complete -c sbx-run -n "$first" -f -a wait -d 'Wait for a task'
complete -c sbx-run -n "$first" -f -a kill -d 'End a task'
complete -c sbx-run -n "$first" -f -a list -d 'List tasks'
complete -c sbx-run -n "$first" -f -a reset -d 'End every task'
complete -c sbx-run -n "$first" -f -a check -d 'Verdict of the command policy'
complete -c sbx-run -n "$first" -f -a explain -d 'What would be built'
complete -c sbx-run -n "$first" -f -a doctor -d 'What this machine can enforce'
complete -c sbx-run -n "$first" -f -a profile -d 'List, show, validate'
complete -c sbx-run -n "$first" -f -a schema -d 'JSON Schemas and tool definitions'
complete -c sbx-run -n "$first" -f -a tool -d 'A tool, native answer'
complete -c sbx-run -n "$first" -f -a serve -d 'The session server'
complete -c sbx-run -n "$first" -f -a mcp -d 'An MCP server'
complete -c sbx-run -n "$first" -l version -d 'Print the version'
complete -c sbx-run -s h -l help -d 'Summary'

complete -c sbx-run -n "$run" -s c -x -d 'Run through the shell'
complete -c sbx-run -n "$run" -l profile -r -a '(__sbx_run_profiles)' -d 'What is granted'
complete -c sbx-run -n "$run" -l workspace -x -a '(__fish_complete_directories)' -d 'Writable root'
complete -c sbx-run -n "$run" -l cwd -x -a '(__fish_complete_directories)' -d 'Where to start'
complete -c sbx-run -n "$run" -l ro -r -d 'Show read-only'
complete -c sbx-run -n "$run" -l rw -r -d 'Show writable'
complete -c sbx-run -n "$run" -l hide -r -d 'Hide'
complete -c sbx-run -n "$run" -l net -x -a 'none outbound open' -d 'Network'
complete -c sbx-run -n "$run" -l allow-host -x -a '(__fish_print_hostnames)' -d 'Reach HOST[:PORT]'
complete -c sbx-run -n "$run" -l timeout -x -d 'Wall clock limit'
complete -c sbx-run -n "$run" -l memory -x -d 'Memory of the tree'
complete -c sbx-run -n "$run" -l cpu-time -x -d 'Processor time'
complete -c sbx-run -n "$run" -l pids -x -d 'Processes and threads'
complete -c sbx-run -n "$run" -l file-size -x -d 'Largest file'
complete -c sbx-run -n "$run" -l tmp-size -x -d 'Temporary file systems'
complete -c sbx-run -n "$run" -l max-output -x -d 'Output kept'
complete -c sbx-run -n "$run" -l env -x -d 'Set NAME=VALUE'
complete -c sbx-run -n "$run" -l pass-env -x -a '(set -nx)' -d 'Pass a variable'
complete -c sbx-run -n "$run" -l scrub -x -a 'off default strict' -d 'Clean the environment'
complete -c sbx-run -n "$run" -l stdin -r -a '- none' -d 'Standard input'
complete -c sbx-run -n "$run" -l merge -d 'stdout and stderr together'
complete -c sbx-run -n "$run" -l require -x -a 'user mount pid net ipc uts cgroup seccomp landlock no_new_privs capabilities' -d 'Layers required'
complete -c sbx-run -n "$run" -l allow-degraded -d 'Allow a weaker tier'
complete -c sbx-run -n "$run" -l overlay -d 'Writes to a layer of their own'
complete -c sbx-run -n "$run" -l approve -x -d 'Grant an approval'
complete -c sbx-run -n "$run" -l audit -r -d 'Append a record'
complete -c sbx-run -n "$run" -l trace-denials -d 'Name refused file operations'
complete -c sbx-run -n "$run" -l stream -d 'JSON lines while it runs'
complete -c sbx-run -n "$run" -l description -x -d 'A few words for the result'
complete -c sbx-run -n "$run" -l owner-pid -x -a '(__fish_complete_pids)' -d 'End with that process'

complete -c sbx-run -n '__fish_seen_subcommand_from exec' -l result-file -r -d 'Where the result goes'
complete -c sbx-run -n '__fish_seen_subcommand_from exec' -l result-fd -x -d 'Where the result goes'
complete -c sbx-run -n '__fish_seen_subcommand_from call' -l params -r -d 'Parameters'
complete -c sbx-run -n '__fish_seen_subcommand_from serve' -l socket -r -d 'Unix socket'
complete -c sbx-run -n '__fish_seen_subcommand_from mcp' -l tool -x -a "$tools" -d 'Offer this tool'
complete -c sbx-run -n '__fish_seen_subcommand_from tool' -f -a "$tools"
complete -c sbx-run -n "__fish_seen_subcommand_from start call tool serve $tasks" -l session -x -d 'Session'
complete -c sbx-run -n "$first; or __fish_seen_subcommand_from explain doctor profile $tasks" -l json -d 'As JSON'
complete -c sbx-run -n '__fish_seen_subcommand_from output' -l since -x -d 'From this offset'
complete -c sbx-run -n '__fish_seen_subcommand_from output' -l follow -d 'Until the task ends'
complete -c sbx-run -n '__fish_seen_subcommand_from output' -l match -x -d 'Lines that match'
complete -c sbx-run -n '__fish_seen_subcommand_from wait' -l timeout -x -d 'Wait so long'
complete -c sbx-run -n '__fish_seen_subcommand_from kill' -l grace -x -d 'Between TERM and KILL'
complete -c sbx-run -n '__fish_seen_subcommand_from doctor' -l apparmor -d 'Only the AppArmor profile'
complete -c sbx-run -n '__fish_seen_subcommand_from profile' -f -a 'list show validate'
complete -c sbx-run -n '__fish_seen_subcommand_from schema' -f -a 'profile request result errors tool'
complete -c sbx-run -n '__fish_seen_subcommand_from schema' -l for -x -a 'anthropic openai mcp' -d 'Form of the definition'
