/** `tollgate dump`, `diff`, `plan`, `apply`, `sync` and `adopt`. */

import { statSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import type { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { BuildCommand } from '../command-entry.ts'
import { applyChanges, exitCodeOf, headOf, type Failure } from '../configuration/apply.ts'
import {
  describeChange,
  findAdoptions,
  findChanges,
  findRemovals,
  NO_OWNER,
  type Change,
} from '../configuration/differences.ts'
import { openFolder, openKept, type FileSource } from '../configuration/file-source.ts'
import type { Context } from '../configuration/handler.ts'
import { readAll } from '../configuration/kinds.ts'
import { createNames } from '../configuration/names.ts'
import { ownAccess } from '../configuration/own-access.ts'
import { findStale, readPlan, toPlan, writePlan } from '../configuration/plan.ts'
import { readFolder, type Folder } from '../configuration/read-folder.ts'
import { Refused } from '../configuration/platform.ts'
import { duplicatesOf, keyOf, type Found } from '../configuration/resource.ts'
import { createServicePlatform } from '../configuration/service-platform.ts'
import { checkSecrets, createVariables } from '../configuration/variables.ts'
import { writeFolder } from '../configuration/write-folder.ts'
import { CommandFailed, EXIT_NEGATIVE, EXIT_TROUBLE } from '../exit-codes.ts'
import { addExamples } from '../help-text.ts'
import type { Io } from '../io.ts'
import { toPlain } from '../output/plain-text.ts'
import { createApiClient } from '../session/api-client.ts'
import { openSession } from '../session/session.ts'

interface Common {
  readonly context?: string
}

interface Comparison {
  readonly baseUrl: string
  readonly files: FileSource
  readonly folder: Folder
  readonly context: Context
  readonly found: readonly Found[]
  /** Ids of the access that the command uses. */
  readonly own: ReadonlySet<string>
}

const CONTEXT_OPTION = ['--context <name>', 'the service, by the name of its context'] as const

export const buildDump: BuildCommand = (command, io) => {
  command
    .argument('<dir>', 'an empty folder, or a new one')
    .option('--managed-by <name>', 'write tollgate.yaml, which makes the folder own its resources')
    .option('--replace', 'replace the files of an earlier dump')
    .option(...CONTEXT_OPTION)
    .action(async (dir: string, options: Common & { managedBy?: string; replace?: true }) => {
      const { platform } = await connect(io, options)
      const context = { platform, names: createNames(), readFile: () => '', hide: (text: string) => text }
      const all = await readAll(context).catch(explainRefusal)
      const duplicates = duplicatesOf(all)
      // A copy could grant what was not granted here.
      const found = all.filter((each) => !duplicates.has(keyOf(each)) && each.waitsFor === undefined)
      const count = writeFolder(dir, found, options.managedBy ?? null, options.replace === true)
      io.err.write(`${found.length} resources in ${count} files\n`)
      const waiting = all.filter(({ waitsFor }) => waitsFor !== undefined).length
      if (waiting > 0) io.err.write(`${waiting} subscriptions wait for an approval or for capacity and are left out\n`)
      for (const { unknownApis = [], ...each } of found) {
        if (unknownApis.length === 0) continue
        const apis = toPlain(unknownApis.join(', '))
        io.err.write(`${toPlain(keyOf(each))} is written without ${apis}: retired, or never active\n`)
      }
      if (duplicates.size === 0) return
      const lines = [...duplicates].map((key) => `  ${toPlain(key)}`).join('\n')
      throw new CommandFailed(`Left out, because several resources have one name:\n${lines}`, EXIT_NEGATIVE)
    })
  addExamples(command, [['tollgate dump config', 'writes the configuration of the service to a folder']])
}

export const buildDiff: BuildCommand = (command, io) => {
  command
    .argument('<dir>', 'the folder')
    .option(...CONTEXT_OPTION)
    .action(async (dir: string, options: Common) => {
      await compare(io, options, openFolder(dir), ({ context, folder, found }) => {
        failIfAny(show(io, context, [...findChanges(context, folder, found), ...findRemovals(folder, found)]))
      })
    })
  addExamples(command, [['tollgate diff config', 'shows what sync would change; exits with 1 if there is anything']])
}

export const buildPlan: BuildCommand = (command, io) => {
  command
    .argument('<dir>', 'the folder')
    .requiredOption('--out <file>', 'the file for the plan')
    .option(...CONTEXT_OPTION)
    .action(async (dir: string, options: Common & { out: string }) => {
      await compare(io, options, openFolder(dir), ({ context, folder, found, files, baseUrl }) => {
        const changes = show(io, context, findChanges(context, folder, found))
        writePlan(options.out, toPlan(baseUrl, files.taken(), found, changes, context.hide))
        failIfAny(changes)
      })
    })
  addExamples(command, [
    ['tollgate plan config --out next.plan', 'pins the revision of every resource that it reads'],
    ['tollgate apply next.plan', 'changes nothing if one of them has changed since'],
  ])
}

export const buildApply: BuildCommand = (command, io) => {
  command
    .argument('<dir-or-plan>', 'a folder, or a file of tollgate plan')
    .option(...CONTEXT_OPTION)
    .action(async (path: string, options: Common) => {
      if (isFolder(path)) {
        await compare(io, options, openFolder(path), ({ context, folder, found }) =>
          make(io, context, findChanges(context, folder, found)),
        )
      } else await applyPlan(io, options, path)
    })
  addExamples(command, [['tollgate apply config', 'creates and changes resources; removes none']])
}

async function applyPlan(io: Io, options: Common, path: string): Promise<void> {
  const plan = readPlan(path)
  const { baseUrl: service } = await openSession(io, options.context)
  if (plan.service !== service) throw new CommandFailed(`The plan is for ${toPlain(plan.service)}, not for ${service}.`)
  await compare(io, options, openKept(plan.files), async ({ context, folder, found }) => {
    const changes = findChanges(context, folder, found)
    const stale = findStale(plan, found, changes, context.hide)
    if (stale.length > 0) {
      const lines = stale.map((key) => `  ${toPlain(key)}`).join('\n')
      throw new CommandFailed(
        `Nothing was changed, because these have changed since the plan:\n${lines}`,
        EXIT_NEGATIVE,
      )
    }
    await make(io, context, changes)
  })
}

export const buildSync: BuildCommand = (command, io) => {
  command
    .argument('<dir>', 'a folder with tollgate.yaml')
    .option('--yes', 'remove without asking')
    .option(...CONTEXT_OPTION)
    .action(async (dir: string, options: Common & { yes?: true }) => {
      await compare(io, options, openFolder(dir), async ({ context, folder, found, own }) => {
        if (folder.owner === null) throw new CommandFailed(NO_OWNER)
        const removals = findRemovals(folder, found)
        refuseOwn(removals, own)
        if (removals.length > 0 && options.yes !== true) await confirm(io, context, removals)
        await make(io, context, [...findChanges(context, folder, found), ...removals])
      })
    })
  addExamples(command, [['tollgate sync config', 'applies, and removes what the folder owns and no longer contains']])
}

export const buildAdopt: BuildCommand = (command, io) => {
  command
    .argument('<dir>', 'a folder with tollgate.yaml')
    .option(...CONTEXT_OPTION)
    .action(async (dir: string, options: Common) => {
      await compare(io, options, openFolder(dir), async ({ context, folder, found, own }) => {
        const { changes, refused } = findAdoptions(folder, found, own)
        const { failures } = await applyChanges(context, changes, (line) => io.out.write(`${line}\n`))
        const lines = [...refused.map(toPlain), ...failures.map(({ text }) => text)].join('\n')
        if (lines !== '') throw new CommandFailed(`Not adopted:\n${lines}`, worstOf(failures))
      })
    })
  addExamples(command, [['tollgate adopt config', 'labels existing resources of the folder as its own']])
}

async function connect(io: Io, { context }: Common) {
  const session = await openSession(io, context)
  const onLimited = (): void => io.err.write('The service limits the rate of calls; this takes longer.\n')
  const platform = createServicePlatform({ api: createApiClient(session), pause, onLimited })
  return { baseUrl: session.baseUrl, platform, token: session.token }
}

/** Reads the folder and the service. An error that `task` throws has no values of variables. */
async function compare(
  io: Io,
  options: Common,
  files: FileSource,
  task: (comparison: Comparison) => Promise<void> | void,
): Promise<void> {
  const variables = createVariables(io.env)
  try {
    const folder = readFolder(files, variables)
    const { baseUrl, platform, token } = await connect(io, options)
    const context: Context = { platform, names: createNames(), readFile: files.read, hide: variables.hide }
    const found = await readAll(context).catch(explainRefusal)
    await task({ baseUrl, files, folder, context, found, own: ownAccess(await token()) })
  } catch (cause) {
    if (!(cause instanceof CommandFailed)) throw cause
    const lines = cause.message.split('\n').map((line) => toPlain(variables.hide(line)))
    throw new CommandFailed(lines.join('\n'), cause.exitCode)
  }
}

function refuseOwn(removals: readonly Change[], own: ReadonlySet<string>): void {
  const lines = removals.flatMap((change) =>
    change.action === 'remove' && own.has(change.found.id) ? [keyOf(change.found)] : [],
  )
  if (lines.length === 0) return
  throw new CommandFailed(
    `Nothing was changed: sync would remove the access of the client that runs it:\n${lines.map((key) => `  ${key}`).join('\n')}\n` +
      'Add it to the folder, or take the label from it.',
    EXIT_NEGATIVE,
  )
}

function explainRefusal(cause: unknown): never {
  if (!(cause instanceof Refused)) throw cause
  throw new CommandFailed(cause.message, exitCodeOf(cause))
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    throw new CommandFailed(`${path} cannot be read.`)
  }
}

/** Returns the changes. */
function show(io: Io, { hide }: Context, changes: readonly Change[]): readonly Change[] {
  for (const change of changes) io.out.write(`${describeChange(change, hide)}\n`)
  if (changes.length === 0) io.err.write('no differences\n')
  return changes
}

function failIfAny({ length }: readonly Change[]): void {
  if (length > 0) throw new CommandFailed(`${length} ${length === 1 ? 'difference' : 'differences'}`, EXIT_NEGATIVE)
}

async function make(io: Io, context: Context, changes: readonly Change[]): Promise<void> {
  // Before the first change, because a missing secret is no reason to stop in the middle.
  for (const change of changes) if (change.action === 'create') checkSecrets(change.wanted.fields)
  const { done, waiting, failures, left } = await applyChanges(context, changes, (line) => io.out.write(`${line}\n`))
  if (failures.length === 0) {
    const rest = waiting === 0 ? '' : `; ${waiting} ${waiting === 1 ? 'waits' : 'wait'} for an approval or for capacity`
    io.err.write(`${done} ${done === 1 ? 'change' : 'changes'}${rest}\n`)
    return
  }
  const rest = left.map((change) => `  ${headOf(change, context)}`).join('\n')
  throw new CommandFailed(
    `${failures.map(({ text }) => text).join('\n')}\n${done} done; not done:\n${rest}\nRun the command again to finish.`,
    worstOf(failures),
  )
}

function worstOf(failures: readonly Failure[]): Failure['exitCode'] {
  return failures.some(({ exitCode }) => exitCode === EXIT_TROUBLE) ? EXIT_TROUBLE : EXIT_NEGATIVE
}

async function confirm(io: Io, { hide }: Context, removals: readonly Change[]): Promise<void> {
  for (const removal of removals) io.err.write(`${describeChange(removal, hide)}\n`)
  if (io.stdin.isTTY !== true || !io.err.isTerminal) {
    throw new CommandFailed('These would be removed; --yes removes them.', EXIT_NEGATIVE)
  }
  const lines = createInterface({ input: io.stdin, output: process.stderr as Writable })
  try {
    const answer = await lines.question(`Remove ${removals.length}? Type yes: `)
    if (answer.trim() !== 'yes') throw new CommandFailed('Nothing was changed.', EXIT_NEGATIVE)
  } finally {
    lines.close()
  }
}
