// SPDX-License-Identifier: Apache-2.0
// Rules about databases: what their clients and tools are told to drop.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "guard/queries.h"
#include "guard/removals.h"
#include "guard/rule.h"
#include "shell/arguments.h"

namespace sbx::guard {
namespace {

// --- queries ---

// A here-string, or a here-document's body: it stands behind the command, up to its delimiter.
std::string here_text(const Case& c, const shell::Redirection& redirection) {
  const auto at = [&](std::size_t offset) {
    return c.text.substr(std::min<std::size_t>(offset, c.text.size()));
  };
  const std::string& word = redirection.target.text;
  if (at(redirection.span.begin).starts_with("<<<")) return word;
  const std::string_view rest = at(redirection.target.span.end);
  const std::size_t begin = rest.find('\n');
  if (begin == std::string_view::npos) return word;
  const std::size_t end = rest.find("\n" + word, begin);
  if (end == std::string_view::npos) return word;
  return std::string(rest.substr(begin, end - begin));
}

// What echo and its like make of their words.
std::string printed(const shell::Command& command) {
  std::string out;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& text = command.words[i].text;
    if (out.empty() && text.starts_with('-')) continue;
    if (!out.empty()) out += ' ';
    out += text;
  }
  for (std::size_t at = out.find("\\n"); at != std::string::npos; at = out.find("\\n", at + 1)) {
    out.replace(at, 2, "\n");
  }
  return out;
}

// A database that is gone with the client.
bool is_in_memory(const Case& c) {
  if (!shell::is_listed(c.program, "sqlite3 sqlite duckdb")) return false;
  const auto& words = c.command.words;
  const auto first = std::find_if(words.begin() + 1, words.end(), [](const shell::Word& word) {
    return !word.text.starts_with('-');
  });
  return first != words.end() && first->known && first->text == ":memory:";
}

// redis-cli --scan | xargs redis-cli del: every key, where no pattern picks some out.
bool deletes_all_keys(const Case& c) {
  const auto& via = c.command.via;
  if (!shell::is_listed(c.program, "redis-cli valkey-cli keydb-cli") ||
      std::none_of(via.begin(), via.end(),
                   [](const std::string& name) { return name == "xargs" || name == "parallel"; })) {
    return false;
  }
  const auto has = [](const shell::Command& command, std::string_view list) {
    return std::any_of(command.words.begin(), command.words.end(),
                       [&](const shell::Word& word) { return shell::is_listed(word.text, list); });
  };
  if (!has(c.command, "del DEL unlink UNLINK")) return false;
  const auto before = c.index.before(c.reading, c.command);
  return std::any_of(before.begin(), before.end(), [&](std::uint32_t at) {
    const shell::Command& other = c.reading.commands[at];
    return other.stage < c.command.stage && has(other, "--scan keys KEYS") &&
           (has(other, "*") || !has(other, "--pattern keys KEYS"));
  });
}

std::optional<Hit> drops_data(const Case& c) {
  if (deletes_all_keys(c)) return Hit{c.command.span, ""};
  std::optional<Hit> hit;
  bool opens = false;
  const auto look = [&](Span span, std::string_view text, bool drops) {
    opens = opens || query_opens(text);
    if (drops && !hit) hit = Hit{span, ""};
  };
  for (const shell::Word& word : c.command.words) {
    look(word.span, word.text, word_drops(word.text, false));
  }
  for (const shell::Redirection& redirection : c.command.redirections) {
    if (redirection.kind != shell::RedirectionKind::kHere) continue;
    const std::string text = here_text(c, redirection);
    look(redirection.target.span, text, query_drops(text, false));
  }
  for (const std::uint32_t at : c.index.before(c.reading, c.command)) {
    const shell::Command& other = c.reading.commands[at];
    if (other.stage >= c.command.stage || other.words.empty()) continue;
    // What a query gives may be a statement that stands in its strings.
    const bool prints = shell::is_listed(program_of(other), "echo printf");
    if (prints) {
      const std::string text = printed(other);
      look(other.span, text, query_drops(text, false));
    }
    for (const shell::Word& word : other.words) {
      look(word.span, word.text, word_drops(word.text, !prints));
    }
  }
  return is_in_memory(c) && !opens ? std::nullopt : hit;
}

// --- tools ---

constexpr Removal kTools[] = {
    {"python python3", "manage.py/flush reset_db"},
    {"manage.py django-admin", "flush reset_db"},
    {"php", "artisan/migrate:fresh migrate:reset migrate:refresh db:wipe"},
    {"artisan", "migrate:fresh migrate:reset migrate:refresh db:wipe"},
    {"php", "console/doctrine:database:drop doctrine:schema:drop"},
    {"prisma", "migrate/reset"},
    {"prisma", "db/push", "--force-reset"},
    {"sequelize-cli sequelize typeorm", "db:drop schema:drop"},
    {"mix", "ecto.drop ecto.reset"},
    {"wp", "db/reset drop clean"},
};

// Stores whose keys or indices are removed by a request.
constexpr std::string_view kStorePorts[] = {":9200", ":9201", ":5984"};

std::optional<Hit> deletes_by_request(const Case& c) {
  const shell::Arguments arguments(c.command, 1, "XHdouAebTFm",
                                   {"request", "header", "data", "user", "output"});
  if (!requests_deletion(arguments, "request")) return std::nullopt;
  for (const shell::Word* word : arguments.operands()) {
    const auto names = [&](std::string_view port) {
      return word->text.find(port) != std::string::npos;
    };
    if (std::any_of(std::begin(kStorePorts), std::end(kStorePorts), names))
      return Hit{word->span, word->text};
  }
  return std::nullopt;
}

std::optional<Hit> drops_by_tool(const Case& c) {
  const shell::Arguments arguments(c.command, 1);
  if (arguments.find("help") != nullptr || arguments.find("version") != nullptr) {
    return std::nullopt;
  }
  const auto& operands = arguments.operands();
  const auto names = [&](std::string_view wanted) {
    return std::any_of(operands.begin(), operands.end(), [&](const shell::Word* word) {
      return shell::is_listed(word->text, wanted);
    });
  };
  const bool hit = shell::is_listed(c.program, "dropdb dropuser") ||
                   (c.program == "mysqladmin" && names("drop")) ||
                   names("db:drop db:reset db:drop:all db:purge");
  if (!hit) return removes_by_client(c, kTools);
  return Hit{c.command.span, operands.empty() ? "" : operands.back()->text};
}

constexpr std::array kRules = {
    Rule{"destructive.database",
         "psql mysql mariadb sqlite3 sqlite mongo mongosh redis-cli valkey-cli keydb-cli cqlsh "
         "clickhouse-client clickhouse duckdb influx sqlcmd mssql-cli usql pgcli mycli litecli "
         "cockroach sqlplus isql hive beeline trino snowsql vsql",
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
         "redis-cli FLUSHALL\n"
         "psql --command='TRUNCATE users'\n"
         "psql -c 'BEGIN; TRUNCATE users; COMMIT'\n"
         "psql -c 'UPDATE a SET b=1 WHERE c=2; DELETE FROM users'\n"
         "psql -c 'DROP  TABLE users'\n"
         "redis-cli --scan --pattern '*' | xargs redis-cli del",
         "psql -c 'SELECT 1'\n"
         "sqlite3 app.db .tables\n"
         "sqlite3 app.db 'DELETE FROM users WHERE id = 1'\n"
         "mysql -e 'SHOW DATABASES'\n"
         "redis-cli GET a\n"
         "redis-cli --scan --pattern 'tmp:*' | xargs redis-cli del\n"
         "sqlite3 :memory: 'drop table x'\n"
         "psql -c 'SELECT truncated FROM users'\n"
         "grep -r 'DROP TABLE' migrations"},
    Rule{"destructive.database-request", "curl", deletes_by_request,
         "removes what a search engine or document store holds",
         "curl -X DELETE http://localhost:9200/_all\n"
         "curl -sXDELETE localhost:9200/logs",
         "curl http://localhost:9200/_cat/indices\n"
         "curl -X DELETE http://localhost:3000/users/1"},
    Rule{"destructive.database-tool",
         "dropdb dropuser mysqladmin rails rake python python3 manage.py django-admin php artisan "
         "prisma sequelize-cli sequelize typeorm mix wp",
         drops_by_tool, "drops a database",
         "dropdb app\n"
         "mysqladmin -u root drop app\n"
         "rails db:drop\n"
         "python manage.py flush\n"
         "php artisan migrate:fresh\n"
         "prisma migrate reset --force",
         "createdb app\n"
         "rails db:migrate\n"
         "python manage.py migrate\n"
         "php artisan migrate\n"
         "prisma migrate dev\n"
         "mysqladmin status"},
};

}  // namespace

std::span<const Rule> data_rules() { return kRules; }

}  // namespace sbx::guard
