# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# bash completion for sbx-run: verbs, options, their values, then the command to run.

_sbx_run_profiles() { sbx-run profile list 2>/dev/null | grep -o '^[^ ]*'; }

_sbx_run() {
  local verbs='run exec call start status output stdin wait kill list reset check explain doctor profile
    schema tool serve mcp'
  local run_options='-c --profile --with --workspace --cwd --ro --rw --hide --net --allow-host --host-port --publish --timeout
    --memory --cpu-time --pids --file-size --tmp-size --max-output --env --pass-env --scrub --stdin
    --merge --require --allow-degraded --scope --trace-denials --overlay --approve --audit --stream
    --owner-pid --description --help'
  local tools='bash bash_output kill_shell shell bash_exec execute_command code_execution'
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb='' i words=''
  COMPREPLY=()

  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ "${COMP_WORDS[i]}" = -- ]; then
      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); fi
      return
    fi
    [ -n "$verb" ] || case " ${verbs//[[:space:]]/ } " in *" ${COMP_WORDS[i]} "*) verb=${COMP_WORDS[i]} ;; esac
  done

  case $previous in
    --profile | --with) words=$(_sbx_run_profiles) ;;
    --net) words='none allowlist outbound open' ;;
    --scrub) words='off default strict' ;;
    --require) words='user mount pid net ipc uts cgroup seccomp landlock no_new_privs capabilities' ;;
    --stdin) words='- none' ;;
    --for) words='anthropic openai mcp' ;;
    --tool | tool) words=$tools ;;
    profile) words='list show validate' ;;
    schema) words='profile request result errors tool' ;;
    show) words=$(_sbx_run_profiles) ;;
    call) words='run start status output stdin wait kill list reset check explain tool approve shutdown' ;;
    --pass-env) mapfile -t COMPREPLY < <(compgen -v -- "$current") ;;
    --workspace | --cwd) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
  esac
  if [ -z "$words" ] && [ ${#COMPREPLY[@]} -eq 0 ]; then
    case $verb in
      '') words="$verbs $run_options --json --version" ;;
      exec) words="$run_options --result-file --result-fd" ;;
      explain) words="$run_options --json" ;;
      call) words="$run_options --params --session" ;;
      start) words="$run_options --session --idle" ;;
      tool) words="$run_options --session" ;;
      serve) words="$run_options --session --socket --fd --idle" ;;
      mcp) words="$run_options --tool" ;;
      run | check) words=$run_options ;;
      output) words='--session --since --follow --match --json --help' ;;
      wait) words='--session --timeout --json --help' ;;
      kill) words='--session --grace --json --help' ;;
      stdin) words='--session --text --close --json --help' ;;
      reset) words='--session --grace --json --help' ;;
      status | list) words='--session --json --help' ;;
      doctor) words='--json --apparmor --help' ;;
      schema) words='--for --help' ;;
      profile) words='--json --help' ;;
    esac
  fi
  case $previous in
    --profile | --ro | --rw | --hide | --stdin | --audit | --params | --result-file | --socket | validate)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      [[ $previous == --profile || $previous == --stdin ]] || return
      ;;
  esac
  [ -z "$words" ] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _sbx_run sbx-run
