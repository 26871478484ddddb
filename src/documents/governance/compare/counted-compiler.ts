/** The validators of the gateway for the components of two documents, with the work of compiling them. */

import type { Fields } from '../../../foundation/json/fields.ts'
import { createSchemaCompiler } from '../../../boundary/schema/schema-compiler.ts'
import type { WorkBudget } from '../containment/work-budget.ts'

/** Work of compiling a character of a schema. */
const CHARACTER_WORK = 2

/** Compiles when a schema is first needed. */
export function compileWith(components: Fields, budget: WorkBudget): (schema: unknown) => (value: unknown) => boolean {
  let compiler: ReturnType<typeof createSchemaCompiler> | null = null
  const counted = new Set<string>()

  /** A component is compiled once, with the first schema that refers to it. */
  function spendFor(schema: unknown): void {
    const open = [schema]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const text = JSON.stringify(next)
      budget.spend(text.length * CHARACTER_WORK)
      for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
        if (counted.has(name)) continue
        counted.add(name)
        open.push(components[name])
      }
    }
  }

  return (schema) => {
    spendFor(schema)
    compiler ??= createSchemaCompiler({ components: { schemas: components } })
    const check = compiler.compile(schema)
    return (value) => check(value) === null
  }
}
