/** Words that may follow a command line: subcommands, options, and the values of options with a choice. */

import type { Command } from 'commander'

/** `load` adds the subcommands of a command of the first level. The last word is the one to complete. */
export async function candidatesOf(
  program: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<readonly string[]> {
  const start = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  let command = program
  for (const word of before) {
    const next = command.commands.find((each) => each.name() === word)
    if (next === undefined) continue
    if (command === program) await load(next)
    command = next
  }
  const option = command.options.find(({ short, long }) => [short, long].includes(before.at(-1)))
  if (option !== undefined && !option.isBoolean()) return startingWith(option.argChoices ?? [], start)
  if (start.startsWith('-'))
    return startingWith(['--help', ...command.options.flatMap(({ long }) => long ?? [])], start)
  return startingWith(
    command.commands.map((each) => each.name()),
    start,
  )
}

function startingWith(words: readonly string[], start: string): readonly string[] {
  return words.filter((word) => word.startsWith(start))
}
