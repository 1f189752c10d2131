// SPDX-License-Identifier: Apache-2.0
// Rules about disks, databases, containers, clusters, and everybody's processes.
#include <algorithm>
#include <array>

#include "guard/arguments.h"
#include "guard/rule.h"

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
    const std::size_t end = rest.find("\n" + redirection.target.text);
    if (here_string || (end != std::string_view::npos && drops(rest.substr(0, end)))) {
      return Hit{span, ""};
    }
  }
  for (const Command& other : c.reading.commands) {
    const bool feeds = other.pipeline == c.command.pipeline && other.stage < c.command.stage;
    if (!feeds) continue;
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

// The operands begin with these words.
bool begins_with(const Arguments& arguments, std::string_view first, std::string_view second = "") {
  const auto& operands = arguments.operands();
  if (operands.empty() || operands[0]->text != first) return false;
  return second.empty() || (operands.size() > 1 && is_listed(operands[1]->text, second));
}

std::optional<Hit> prunes_containers(const Case& c) {
  const Arguments arguments(c.command, 1, "Hcfp", {"context", "host", "config", "file"});
  const bool hit =
      begins_with(arguments, "system", "prune reset") ||
      begins_with(arguments, "volume", "prune rm") ||
      (c.program == "docker-compose" && begins_with(arguments, "down") &&
       arguments.find('v', "volumes") != nullptr) ||
      (begins_with(arguments, "compose", "down") && arguments.find('v', "volumes") != nullptr);
  return hit ? always(c) : std::nullopt;
}

std::optional<Hit> destroys_services(const Case& c) {
  const Arguments arguments(c.command, 1, "n",
                            {"namespace", "context", "profile", "region", "stack"});
  bool hit = false;
  if (is_listed(c.program, "terraform tofu pulumi cdk")) {
    const bool applies_destroy =
        begins_with(arguments, "apply") && arguments.find("destroy") != nullptr;
    hit = begins_with(arguments, "destroy") || applies_destroy;
    for (const Word& word : c.command.words) hit = hit || word.text == "-destroy";
  } else if (c.program == "kubectl" || c.program == "oc") {
    hit = begins_with(arguments, "delete") || begins_with(arguments, "drain");
    hit = hit && arguments.find("dry-run") == nullptr;
  } else if (c.program == "helm") {
    hit = begins_with(arguments, "uninstall") || begins_with(arguments, "delete");
  } else if (c.program == "aws") {
    hit = begins_with(arguments, "s3", "rb") ||
          (begins_with(arguments, "s3", "rm") && arguments.find("recursive") != nullptr);
  } else if (c.program == "gh") {
    hit = begins_with(arguments, "repo", "delete");
  }
  return hit ? always(c) : std::nullopt;
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
    Rule{"destructive.containers", "docker podman docker-compose", prunes_containers,
         "removes containers' data",
         "docker system prune -af\n"
         "docker volume rm data\n"
         "docker compose down -v",
         "docker ps\n"
         "docker compose down\n"
         "docker build ."},
    Rule{"destructive.services", "terraform tofu pulumi cdk kubectl oc helm aws gh",
         destroys_services, "takes down what others may be using",
         "terraform destroy\n"
         "terraform apply -destroy\n"
         "kubectl delete ns prod\n"
         "kubectl -n prod delete pod a\n"
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

bool is_listed(std::string_view name, std::string_view list) {
  if (name.empty()) return false;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace sbx
