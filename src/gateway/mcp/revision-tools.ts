/**
 * The tools of one revision, and those that one caller may call.
 *
 * A tool is compiled at its first use. Which ones a caller may call is computed once per caller context, so once per grant and
 * revision.
 */

import { toToolNames } from '../../boundary/mcp/tool-names.ts'
import { isWritable } from '../../boundary/mcp/tool-arguments.ts'
import { toTool, type Tool } from '../../boundary/mcp/tool.ts'
import { isExposed } from '../../boundary/plan/mcp-exposure.ts'
import { authorise } from '../authentication/authorise.ts'
import type { CallerContext } from '../call/caller-context.ts'
import type { CompiledOperation, CompiledRevision } from '../call/revision.ts'
import { acceptsHeader } from './accepts-header.ts'

export class RevisionTools {
  readonly #revision: CompiledRevision
  readonly #names: readonly string[]
  readonly #positions: ReadonlyMap<string, number>
  readonly #tools: (Tool | undefined)[] = []

  constructor(revision: CompiledRevision) {
    this.#revision = revision
    const { plan, operations } = revision
    this.#names = toToolNames(operations.map(({ plan: { operationId } }) => operationId))
    this.#positions = new Map(
      this.#names.flatMap((name, position) => {
        const operation = operations[position]!.plan
        return isExposed(plan, operation) && isWritable(operation, acceptsHeader) ? [[name, position] as const] : []
      }),
    )
  }

  /** Returns the position of an operation by the name of its tool. */
  positionOf(name: string): number | undefined {
    return this.#positions.get(name)
  }

  nameAt(position: number): string {
    return this.#names[position]!
  }

  at(position: number): Tool {
    const { plan, operations } = this.#revision
    return (this.#tools[position] ??= toTool(this.#names[position]!, operations[position]!.plan, plan, acceptsHeader))
  }

  /** Returns the positions of the operations that the caller may call. */
  callableBy({ caller, revision }: CallerContext): readonly number[] {
    const { operations } = this.#revision
    return [...this.#positions.values()].filter(
      (position) => authorise(operations[position]!.plan.security, caller, revision) === null,
    )
  }
}

/** By the operations, which a revision keeps when only its products change. */
const compiled = new WeakMap<readonly CompiledOperation[], RevisionTools>()
const callable = new WeakMap<CallerContext, readonly number[]>()

export function toolsOf(revision: CompiledRevision): RevisionTools {
  let tools = compiled.get(revision.operations)
  if (tools === undefined) compiled.set(revision.operations, (tools = new RevisionTools(revision)))
  return tools
}

export function callableTools(context: CallerContext): readonly number[] {
  let positions = callable.get(context)
  if (positions === undefined) callable.set(context, (positions = toolsOf(context.revision).callableBy(context)))
  return positions
}
