/** Entries of the list of commands. */

import type { Command } from 'commander'
import type { Io } from './io.ts'

/** Adds arguments, options and subcommands to a command. */
export type BuildCommand = (command: Command, io: Io) => void

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<BuildCommand>
}

/** A command that reads its own arguments; it returns its exit code. */
export interface RawEntry {
  readonly name: string
  readonly summary: string
  readonly usage: string
  readonly run: (args: readonly string[], io: Io) => Promise<number>
}

export interface CommandSection {
  readonly title: string
  readonly entries: readonly (CommandEntry | RawEntry)[]
}
