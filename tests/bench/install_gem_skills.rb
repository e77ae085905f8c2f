# Installs the skills of all installed gems into a project, as the packaging rules for gems describe it: what a tool in
# Ruby does for that, and no more. Nothing is hashed, locked or compared, so an edited skill is replaced.

require "fileutils"
require "rubygems"
require "yaml"

TARGET = ".agents/skills"
REGISTRY = "#{TARGET}/.agent-skills.yaml"

def frontmatter(path)
  head = File.read(path, encoding: "UTF-8")[/\A---\n(.*?)^---$/m, 1]
  values = head && YAML.safe_load(head)
  values.is_a?(Hash) ? values : {}
end

def skills(specification)
  Dir.glob("#{specification.full_gem_path}/skills/*/SKILL.md").map do |file|
    directory = File.dirname(file)
    name = File.basename(directory)
    found = frontmatter(file)
    abort "#{file}: invalid" unless found["name"] == name && found["description"]
    [name, { from: directory, "gem" => specification.name, "version" => specification.version.to_s }]
  end
end

all = Gem::Specification.flat_map { |specification| skills(specification) }
twice = all.map(&:first).tally.select { |_, count| count > 1 }.keys
abort "two gems have: #{twice.join(", ")}" unless twice.empty?

owned = File.exist?(REGISTRY) ? YAML.safe_load(File.read(REGISTRY))["skills"] : {}
foreign = all.reject { |name, skill| !File.exist?("#{TARGET}/#{name}") || owned.dig(name, "gem") == skill["gem"] }
abort "not ours: #{foreign.map(&:first).join(", ")}" unless foreign.empty?

FileUtils.mkdir_p(TARGET)
all.each do |name, skill|
  FileUtils.rm_rf("#{TARGET}/#{name}")
  FileUtils.cp_r(skill[:from], "#{TARGET}/#{name}")
end
rows = all.sort.to_h { |name, skill| [name, skill.slice("gem", "version")] }
File.write(REGISTRY, YAML.dump({ "version" => 1, "skills" => rows }))
puts "#{all.size} skills"
