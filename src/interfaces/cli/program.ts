/**
 * The command line programme: finds the command, loads its module, runs it, and turns errors into a sentence on stderr and an
 * exit code.
 *
 * Help is printed on stdout if it was asked for, and on stderr with a non-zero exit code otherwise.
 */

import { Command, CommanderError } from 'commander'
import type { BuildCommand, CommandEntry, RawEntry } from './command-entry.ts'
import { SECTIONS } from './command-list.ts'
import { CommandFailed, EXIT_TROUBLE } from './exit-codes.ts'
import { addExamples } from './help-text.ts'
import type { Io } from './io.ts'
import { readVersion } from '../../foundation/runtime/version.ts'

const EXAMPLES = [
  ['tollgate dev openapi.yaml --backend http://localhost:3000', 'serves an API in front of your backend'],
  ['tollgate login https://platform.example', 'signs in to a service'],
  ['tollgate risks tail', 'prints risks as they happen'],
] as const
/** Asked by the completion scripts. */
const COMPLETE = '__complete'
const AFTER_HELP = `
Exit codes: 0 done; 1 a negative result (differences, refused, not good enough); 2 trouble.
The settings of the service: tollgate start --help
`

const HELP_COLUMNS_MAX = 120

/** Returns the exit code. */
export async function runProgram(args: readonly string[], io: Io): Promise<number> {
  const argv = args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args
  const raw = RAW.get(argv[0] ?? '')
  try {
    if (raw !== undefined) return await raw.run(argv.slice(1), io)
    const { program, load } = createProgram(io)
    if (argv[0] === COMPLETE)
      io.out.write((await complete(program, argv.slice(1), load)).map((word) => `${word}\n`).join(''))
    else if (argv.length === 0) program.outputHelp()
    // Without its options, so that an unknown command with --help is refused like any other.
    else await program.parseAsync(isUnknown(program, argv[0]!) ? argv.slice(0, 1) : argv, { from: 'user' })
    return 0
  } catch (cause) {
    return explain(cause, io)
  }
}

function isUnknown(program: Command, name: string): boolean {
  return !name.startsWith('-') && name !== 'help' && program.commands.every((command) => command.name() !== name)
}

type LoadCommand = (command: Command) => Promise<void>

async function complete(program: Command, words: readonly string[], load: LoadCommand): Promise<readonly string[]> {
  const { candidatesOf } = await import('./candidates.ts')
  return candidatesOf(program, words, load)
}

function createProgram(io: Io): { readonly program: Command; readonly load: LoadCommand } {
  const program = new Command('tollgate')
    .description('Publish, protect, meter and watch APIs.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print the help of a command')
    .enablePositionalOptions()
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out.write(text),
      writeErr: (text) => io.err.write(text),
      outputError: (text, write) => write(withoutValues(text).replace(/^error: /, 'tollgate: ')),
      getOutHelpWidth: () => Math.min(io.out.columns, HELP_COLUMNS_MAX),
      getErrHelpWidth: () => Math.min(io.err.columns, HELP_COLUMNS_MAX),
      getOutHasColors: () => io.out.colour,
      getErrHasColors: () => io.err.colour,
    })
  addExamples(program, EXAMPLES)
  program.addHelpText('after', AFTER_HELP)

  const builders = new Map<Command, CommandEntry>()
  for (const { title, entries } of SECTIONS) {
    for (const entry of entries) {
      const command = program.command(entry.name).summary(entry.summary).description(`${entry.summary}.`)
      command.helpGroup(title)
      if ('load' in entry) builders.set(command, entry)
      else command.usage(entry.usage)
    }
  }
  const load = async (command: Command): Promise<void> => {
    const build: BuildCommand | undefined = await builders.get(command)?.load()
    build?.(command, io)
  }
  program.hook('preSubcommand', (_, command) => load(command))
  return { program, load }
}

const RAW: ReadonlyMap<string, RawEntry> = new Map(
  SECTIONS.flatMap(({ entries }) => entries.flatMap((entry) => ('run' in entry ? [[entry.name, entry] as const] : []))),
)

/** Removes arguments from a message of Commander: one that is misplaced or follows a misspelt option may be a secret. */
function withoutValues(text: string): string {
  return text
    .replace(/^(error: unknown option '--?[\w-]*)[^\w'-].*'/s, "$1'")
    .replace(/^(error: unknown command )'(?![\w-]*').*'/s, '$1')
    .replace(/^(error: too many arguments.* but got \d+): .*\.$/ms, '$1.')
}

function explain(cause: unknown, io: Io): number {
  // Commander has printed its message.
  if (cause instanceof CommanderError) return cause.exitCode === 0 ? 0 : EXIT_TROUBLE
  io.err.write(`tollgate: ${cause instanceof Error ? cause.message : String(cause)}\n`)
  return cause instanceof CommandFailed ? cause.exitCode : EXIT_TROUBLE
}
