// SPDX-License-Identifier: Apache-2.0
// Rules about disks, containers, clusters, and everybody's processes.
#include <algorithm>
#include <array>

#include "guard/removals.h"
#include "guard/rule.h"
#include "shell/arguments.h"

namespace sbx::guard {
namespace {

std::optional<Hit> always(const Case& c) {
  const shell::Arguments arguments(c.command, 1);
  if (arguments.find("help") != nullptr || arguments.find("version") != nullptr) {
    return std::nullopt;
  }
  return Hit{c.command.span, arguments.operands().empty() ? "" : arguments.operands().back()->text};
}

std::optional<Hit> partitions(const Case& c) {
  const shell::Arguments arguments(c.command, 1);
  for (const std::string_view name : {"list", "help", "version", "no-act", "dump", "print"}) {
    if (arguments.find(name) != nullptr) return std::nullopt;
  }
  if (arguments.find('l') != nullptr || arguments.find('n') != nullptr ||
      arguments.find('d') != nullptr || arguments.find('p') != nullptr) {
    return std::nullopt;
  }
  const auto& operands = arguments.operands();
  const bool prints = std::any_of(operands.begin(), operands.end(),
                                  [](const shell::Word* word) { return word->text == "print"; });
  // wipefs without an option only lists.
  if (c.program == "wipefs" && arguments.find('a', "all") == nullptr &&
      arguments.find('o', "offset") == nullptr) {
    return std::nullopt;
  }
  return prints ? std::nullopt : always(c);
}

constexpr Removal kDisks[] = {
    {"zfs", "destroy"},
    {"btrfs", "subvolume subvol sub su/delete del d"},
    {"nvme", "format sanitize delete-ns"},
    {"hdparm", "", "--security-erase --security-erase-enhanced --trim-sector-ranges"},
    {"badblocks", "", "-w"},
    {"mdadm", "", "--zero-superblock"},
};

std::optional<Hit> erases_disk(const Case& c) { return removes_by_client(c, kDisks); }

// --- services ---

constexpr Removal kContainers[] = {
    {"docker podman nerdctl", "system/prune reset"},
    {"docker podman nerdctl", "volume/prune rm remove"},
    {"docker podman nerdctl", "compose/down rm", "-v --volumes"},
    {"docker podman nerdctl", "compose/rm", "-s --stop"},
    {"docker-compose podman-compose", "down rm", "-v --volumes"},
    {"docker-compose podman-compose", "rm", "-s --stop"},
    {"docker", "stack/rm remove down"},
    {"podman", "pod/rm prune"},
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
    {"kubectl oc", "apply", "--prune"},
    {"minikube kind", "delete"},
    {"k3d", "cluster node registry/delete rm del"},
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
    {"supabase", "db/reset"},
    {"firebase",
     ".../projects:delete firestore:delete hosting:disable functions:delete "
     "database:remove"},
    {"rclone", "delete deletefile purge rmdir rmdirs cleanup"},
    {"s3cmd s5cmd", "del rm rb"},
    {"b2", "delete-* rm"},
    {"b2", "bucket file/delete"},
    {"openstack", ".../delete"},
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
    {"kafka-topics.sh kafka-topics kafka-consumer-groups.sh kafka-consumer-groups", "", "--delete"},
    {"systemctl loginctl", "poweroff reboot halt kexec"},
    {"pscale turso neonctl neon", ".../delete destroy"},
};

// gh api -X DELETE …
bool sends_delete(const Case& c) {
  if (!shell::is_listed(c.program, "gh glab")) return false;
  const shell::Arguments arguments(c.command, 1, "XHfFpqtR", {"method", "hostname", "repo"});
  const auto& operands = arguments.operands();
  return !operands.empty() && operands.front()->text == "api" &&
         requests_deletion(arguments, "method");
}

std::optional<Hit> prunes_containers(const Case& c) { return removes_by_client(c, kContainers); }
std::optional<Hit> destroys_services(const Case& c) {
  if (sends_delete(c)) return Hit{c.command.span, ""};
  return removes_by_client(c, kServices);
}

std::optional<Hit> removes_crontab(const Case& c) {
  return shell::Arguments(c.command, 1, "u").find('r') != nullptr ? always(c) : std::nullopt;
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
    Rule{"destructive.disk-tool", "zfs btrfs nvme hdparm badblocks mdadm", erases_disk,
         "removes what a disk holds",
         "zfs destroy tank/home\n"
         "btrfs subvolume delete snap\n"
         "nvme format /dev/nvme0n1\n"
         "hdparm --user-master u --security-erase p /dev/sda\n"
         "badblocks -wsv /dev/sda\n"
         "mdadm --zero-superblock /dev/sda1",
         "zfs list\n"
         "btrfs subvolume list .\n"
         "nvme list\n"
         "hdparm -I /dev/sda\n"
         "badblocks -sv /dev/sda\n"
         "mdadm --detail /dev/md0"},
    Rule{"destructive.account", "userdel deluser", always, "removes an account, or what it has",
         "userdel -r bob\n"
         "deluser bob",
         "userdel --help\n"
         "id bob"},
    Rule{"destructive.containers", "docker podman nerdctl docker-compose podman-compose",
         prunes_containers, "removes containers' data",
         "docker system prune -af\n"
         "docker volume rm data\n"
         "docker compose down -v\n"
         "docker compose rm -sf\n"
         "docker stack rm web\n"
         "podman pod rm web",
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
         "gh repo delete a/b\n"
         "gh api -X DELETE repos/a/b\n"
         "kubectl apply --prune -f .\n"
         "minikube delete\n"
         "kafka-topics.sh --bootstrap-server h --delete --topic t\n"
         "systemctl reboot",
         "terraform plan\n"
         "kubectl get pods\n"
         "kubectl delete pod a --dry-run=client\n"
         "aws s3 ls\n"
         "gh api repos/a/b\n"
         "gh api -X POST repos/a/b\n"
         "systemctl status\n"
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
  static const std::array<std::span<const Rule>, 5> kAll = {
      file_rules(), git_rules(), shell_rules(), data_rules(), system_rules()};
  return kAll;
}

}  // namespace sbx::guard
