// SPDX-License-Identifier: Apache-2.0
// Rules about disks, databases, containers, clusters, and everybody's processes.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "guard/rule.h"
#include "shell/arguments.h"

namespace sbx {
namespace {

std::optional<Hit> always(const Case& c) {
  const Arguments arguments(c.command, 1);
  if (arguments.find("help") != nullptr || arguments.find("version") != nullptr) {
    return std::nullopt;
  }
  return Hit{c.command.span, arguments.operands().empty() ? "" : arguments.operands().back()->text};
}

std::optional<Hit> partitions(const Case& c) {
  const Arguments arguments(c.command, 1);
  for (const std::string_view name : {"list", "help", "version", "no-act", "dump", "print"}) {
    if (arguments.find(name) != nullptr) return std::nullopt;
  }
  if (arguments.find('l') != nullptr || arguments.find('n') != nullptr ||
      arguments.find('d') != nullptr || arguments.find('p') != nullptr) {
    return std::nullopt;
  }
  const auto& operands = arguments.operands();
  const bool prints = std::any_of(operands.begin(), operands.end(),
                                  [](const Word* word) { return word->text == "print"; });
  // wipefs without an option only lists.
  if (c.program == "wipefs" && arguments.find('a', "all") == nullptr &&
      arguments.find('o', "offset") == nullptr) {
    return std::nullopt;
  }
  return prints ? std::nullopt : always(c);
}

// --- databases ---

bool drops(std::string_view text) {
  for (const std::string_view words :
       {"drop database", "drop table", "drop schema", "drop user", "drop role", "drop keyspace",
        "truncate table", "dropdatabase", "flushall", "flushdb", ".drop(", "deletemany({})"}) {
    if (contains_ignoring_case(text, words)) return true;
  }
  // A statement that begins with it, so that a column of that name does not count.
  if (contains_ignoring_case(text.substr(0, 9), "truncate ")) return true;
  return contains_ignoring_case(text, "delete from") && !contains_ignoring_case(text, "where");
}

std::optional<Hit> drops_data(const Case& c) {
  for (const Word& word : c.command.words) {
    if (drops(word.text)) return Hit{word.span, ""};
  }
  for (const Redirection& redirection : c.command.redirections) {
    const Span span = redirection.target.span;
    if (redirection.kind != RedirectionKind::kHere) continue;
    // A here-document's body stands behind the command, up to its delimiter.
    const bool here_string = drops(redirection.target.text);
    const std::string_view rest = c.text.substr(std::min<std::size_t>(span.end, c.text.size()));
    const bool is_document =
        !c.text.substr(std::min<std::size_t>(redirection.span.begin, c.text.size()))
             .starts_with("<<<");
    const std::size_t end =
        is_document ? rest.find("\n" + redirection.target.text) : std::string_view::npos;
    if (here_string || (end != std::string_view::npos && drops(rest.substr(0, end)))) {
      return Hit{span, ""};
    }
  }
  for (const std::uint32_t at : c.index.before(c.reading, c.command)) {
    const Command& other = c.reading.commands[at];
    if (other.stage >= c.command.stage) continue;
    for (const Word& word : other.words) {
      if (drops(word.text)) return Hit{word.span, ""};
    }
  }
  return std::nullopt;
}

std::optional<Hit> drops_by_tool(const Case& c) {
  const Arguments arguments(c.command, 1);
  const auto& operands = arguments.operands();
  const auto names = [&](std::string_view wanted) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Word* word) { return is_listed(word->text, wanted); });
  };
  const bool hit = c.program == "dropdb" || c.program == "dropuser" ||
                   (c.program == "mysqladmin" && names("drop")) ||
                   names("db:drop db:reset db:drop:all");
  return hit ? always(c) : std::nullopt;
}

// --- services ---

// Words behind the program that are no options. One behind an option without '=' may be its value:
// which options take one differs from client to client.
struct Verb {
  const Word* word = nullptr;
  bool may_be_value = false;
};

std::vector<Verb> verbs_of(const Command& command) {
  std::vector<Verb> out;
  bool after_option = false;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& text = command.words[i].text;
    if (text == "--") break;
    if (text.starts_with('-')) {
      after_option = text.find('=') == std::string::npos;
      continue;
    }
    out.push_back({&command.words[i], after_option});
    after_option = false;
  }
  return out;
}

// A word of `list`, or one that begins with a word of it that ends in '*'.
bool is_verb(std::string_view word, std::string_view list) {
  for (const std::string_view one : split(list, ' ')) {
    if (one.ends_with('*') ? word.starts_with(one.substr(0, one.size() - 1)) : word == one)
      return true;
  }
  return false;
}

// Whether the verbs begin with one word of each list, in this order.
bool begins_with(std::span<const Verb> verbs, std::span<const std::string_view> lists) {
  if (lists.empty()) return true;
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    if (is_verb(verbs[i].word->text, lists.front()) &&
        begins_with(verbs.subspan(i + 1), lists.subspan(1))) {
      return true;
    }
    if (!verbs[i].may_be_value) return false;
  }
  return false;
}

// What a client of a service is told to take down: words in the order in which they begin, lists
// separated by '/'; "..." is any words.
struct Removal {
  std::string_view programs;
  std::string_view verbs;
  std::string_view with = {};  // only with one of these options; empty: always
};

constexpr Removal kContainers[] = {
    {"docker podman nerdctl", "system/prune reset"},
    {"docker podman nerdctl", "volume/prune rm remove"},
    {"docker podman nerdctl", "compose/down rm", "-v --volumes"},
    {"docker-compose podman-compose", "down rm", "-v --volumes"},
};

constexpr Removal kServices[] = {
    {"terraform tofu terragrunt", "destroy"},
    {"terraform tofu terragrunt", "apply", "-destroy --destroy"},
    {"terraform tofu terragrunt", "state/rm"},
    {"terraform tofu terragrunt", "workspace/delete"},
    {"terragrunt", "run-all run/destroy"},
    {"cdktf cdk pulumi helmfile vagrant", "destroy"},
    {"pulumi", "stack/rm"},
    {"kubectl oc k3s microk8s k", "delete drain"},
    {"k3s microk8s", "kubectl/delete drain"},
    {"kubectl oc", "replace", "--force"},
    {"helm", "uninstall delete del un"},
    {"flux", "uninstall"},
    {"argocd", "app appset proj cluster repo/delete rm"},
    {"aws", "s3/rb rm"},
    {"aws", "s3/sync", "--delete"},
    {"aws",
     ".../delete delete-* terminate-* destroy-* purge-* batch-delete-* deregister-* "
     "schedule-key-deletion"},
    {"gcloud", ".../delete destroy"},
    {"gcloud", "storage/rm"},
    {"gcloud", "alpha beta/storage/rm"},
    {"gsutil", "rm rb"},
    {"gsutil", "rsync", "-d"},
    {"bq", "rm"},
    {"az", ".../delete purge delete-batch"},
    {"azcopy", "rm remove"},
    {"doctl hcloud linode-cli linode scw exo civo oci ibmcloud vultr-cli upctl aliyun yc tccli",
     ".../delete destroy rm remove terminate d"},
    {"eksctl kops sam amplify copilot", "delete"},
    {"copilot amplify", ".../delete"},
    {"serverless sls", "remove"},
    {"eb", "terminate"},
    {"heroku", ".../destroy apps:destroy pg:reset addons:destroy pipelines:destroy domains:clear"},
    {"fly flyctl", ".../destroy delete"},
    {"vercel now", "remove rm"},
    {"vercel", "project env domains dns/rm remove"},
    {"netlify ntl", "sites:delete"},
    {"wrangler", ".../delete delete-project"},
    {"supabase", "projects branches/delete"},
    {"supabase", "db/reset", "--linked --db-url"},
    {"firebase",
     ".../projects:delete firestore:delete hosting:disable functions:delete "
     "database:remove"},
    {"rclone", "delete deletefile purge rmdir rmdirs cleanup"},
    {"s3cmd", "del rm rb"},
    {"mc mcli", "rm rb"},
    {"gh", "repo release gist secret variable run cache ssh-key label/delete"},
    {"glab", "repo project release/delete"},
    {"npm pnpm", "unpublish"},
    {"yarn", "npm/unpublish"},
    {"cargo gem", "yank"},
    {"nomad", "job/stop", "-purge --purge"},
    {"nomad", "namespace volume/delete"},
    {"consul", "kv/delete"},
    {"vault", "delete"},
    {"vault", "kv/delete destroy metadata"},
    {"vault", "secrets auth/disable"},
    {"etcdctl", "del"},
    {"virsh", "undefine vol-delete pool-delete"},
    {"lxc incus", "delete"},
    {"pscale turso neonctl neon", ".../delete destroy"},
};

bool has_option(const Command& command, std::string_view list) {
  return std::any_of(command.words.begin() + 1, command.words.end(), [&](const Word& word) {
    const std::string_view name = std::string_view(word.text).substr(0, word.text.find('='));
    return is_listed(name, list);
  });
}

bool matches(const Case& c, const Removal& removal, const std::vector<Verb>& verbs) {
  if (!is_listed(c.program, removal.programs)) return false;
  if (!removal.with.empty() && !has_option(c.command, removal.with)) return false;
  constexpr std::string_view kAnywhere = ".../";
  if (removal.verbs.starts_with(kAnywhere)) {
    const std::string_view list = removal.verbs.substr(kAnywhere.size());
    return std::any_of(verbs.begin(), verbs.end(),
                       [&](const Verb& verb) { return is_verb(verb.word->text, list); });
  }
  const std::vector<std::string_view> lists = split(removal.verbs, '/');
  return begins_with(verbs, lists);
}

std::optional<Hit> removes_by_client(const Case& c, std::span<const Removal> table) {
  const std::vector<Verb> verbs = verbs_of(c.command);
  // What only shows what it would do.
  if (has_option(c.command, "--dry-run --dryrun --help -h --what-if")) return std::nullopt;
  if (!verbs.empty() && verbs.front().word->text == "help") return std::nullopt;
  const bool hit = std::any_of(table.begin(), table.end(),
                               [&](const Removal& removal) { return matches(c, removal, verbs); });
  if (!hit) return std::nullopt;
  return Hit{c.command.span, verbs.back().word->text};
}

std::optional<Hit> prunes_containers(const Case& c) { return removes_by_client(c, kContainers); }
std::optional<Hit> destroys_services(const Case& c) {
  const bool is_client =
      std::any_of(std::begin(kServices), std::end(kServices),
                  [&](const Removal& one) { return is_listed(c.program, one.programs); });
  if (!is_client) return std::nullopt;
  return removes_by_client(c, kServices);
}

std::optional<Hit> removes_crontab(const Case& c) {
  return Arguments(c.command, 1, "u").find('r') != nullptr ? always(c) : std::nullopt;
}

std::optional<Hit> kills_all(const Case& c) {
  if (c.program == "killall5") return always(c);
  // The last word, behind a signal: "-1" alone is a signal.
  const auto& words = c.command.words;
  const bool hit = words.size() > 2 && words.back().text == "-1";
  return hit ? std::optional(Hit{words.back().span, "-1"}) : std::nullopt;
}

constexpr std::array kRules = {
    Rule{"destructive.mkfs", "mke2fs mkswap mkdosfs mkntfs newfs", always,
         "makes a file system over whatever is there",
         "mke2fs /dev/sda1\n"
         "mkswap /dev/sdb",
         "mke2fs --help\n"
         "echo mkswap"},
    Rule{"destructive.disk",
         "wipefs fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard pvremove "
         "vgremove lvremove cryptsetup zpool",
         partitions, "changes a disk's layout or contents",
         "wipefs -a /dev/sda\n"
         "fdisk /dev/sda\n"
         "parted /dev/sda mklabel gpt\n"
         "sfdisk /dev/sda\n"
         "blkdiscard /dev/nvme0n1",
         "fdisk -l\n"
         "parted /dev/sda print\n"
         "wipefs /dev/sda\n"
         "sfdisk -d /dev/sda"},
    Rule{"destructive.database",
         "psql mysql mariadb sqlite3 sqlite mongo mongosh redis-cli cqlsh "
         "clickhouse-client duckdb",
         drops_data, "drops data in a database",
         "psql -c 'DROP DATABASE app'\n"
         "psql app -c 'drop table users;'\n"
         "mysql -e 'DROP DATABASE app'\n"
         "mysql -u root -e \"TRUNCATE users\"\n"
         "sqlite3 app.db 'DROP TABLE users'\n"
         "sqlite3 app.db 'DELETE FROM users'\n"
         "echo 'DROP TABLE x;' | psql\n"
         "psql <<< 'drop schema public cascade'\n"
         "psql <<EOF\\nDROP TABLE x;\\nEOF\n"
         "mongosh --eval 'db.dropDatabase()'\n"
         "redis-cli FLUSHALL",
         "psql -c 'SELECT 1'\n"
         "sqlite3 app.db .tables\n"
         "sqlite3 app.db 'DELETE FROM users WHERE id = 1'\n"
         "mysql -e 'SHOW DATABASES'\n"
         "redis-cli GET a\n"
         "grep -r 'DROP TABLE' migrations"},
    Rule{"destructive.database-tool", "dropdb dropuser mysqladmin rails rake", drops_by_tool,
         "drops a database",
         "dropdb app\n"
         "mysqladmin -u root drop app\n"
         "rails db:drop",
         "createdb app\n"
         "rails db:migrate\n"
         "mysqladmin status"},
    Rule{"destructive.containers", "docker podman nerdctl docker-compose podman-compose",
         prunes_containers, "removes containers' data",
         "docker system prune -af\n"
         "docker volume rm data\n"
         "docker compose down -v",
         "docker ps\n"
         "docker compose down\n"
         "docker build ."},
    Rule{"destructive.services", "", destroys_services, "takes down what others may be using",
         "terraform destroy\n"
         "terraform apply -destroy\n"
         "kubectl delete ns prod\n"
         "kubectl -n prod delete pod a\n"
         "kubectl --kubeconfig /data/config --cluster c delete pod a\n"
         "aws --profile p --region r ec2 terminate-instances --instance-ids i\n"
         "gcloud --project p compute instances delete vm\n"
         "az group delete --name g\n"
         "doctl compute droplet delete 1\n"
         "npm unpublish a@1.0.0\n"
         "helm uninstall app\n"
         "aws s3 rm s3://bucket --recursive\n"
         "gh repo delete a/b",
         "terraform plan\n"
         "kubectl get pods\n"
         "kubectl delete pod a --dry-run=client\n"
         "aws s3 ls\n"
         "gh pr list"},
    Rule{"destructive.crontab", "crontab", removes_crontab, "removes every scheduled job",
         "crontab -r\n"
         "crontab -u me -r",
         "crontab -l"},
    Rule{"destructive.kill-all", "kill killall5", kills_all, "kills every process",
         "kill -9 -1\n"
         "kill -KILL -- -1",
         "kill -9 1234\n"
         "kill -1 1234\n"
         "kill %1"},
};

}  // namespace

std::span<const Rule> system_rules() { return kRules; }

std::span<const std::span<const Rule>> destructive_rules() {
  static const std::array<std::span<const Rule>, 4> kAll = {file_rules(), git_rules(),
                                                            shell_rules(), system_rules()};
  return kAll;
}

}  // namespace sbx
