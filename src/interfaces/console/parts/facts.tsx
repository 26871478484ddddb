/** The facts of an object: titles and values. */

import type { ComponentChildren } from 'preact'

/** Null: a fact that the object does not have. */
export type Fact = readonly [title: string, value: ComponentChildren] | null

interface FactsProps {
  readonly of: readonly Fact[]
  /** The values are texts of people, as long as they are. */
  readonly isProse?: boolean
}

export function Facts({ of, isProse = false }: FactsProps) {
  return (
    <dl class={isProse ? 'facts prose' : 'facts'}>
      {of.flatMap((fact) =>
        fact === null
          ? []
          : [
              <dt key={fact[0]}>{fact[0]}</dt>,
              <dd key={`${fact[0]} value`} dir={isProse ? 'auto' : undefined}>
                {fact[1]}
              </dd>,
            ],
      )}
    </dl>
  )
}
