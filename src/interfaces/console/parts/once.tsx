/** A secret that is shown once: the dialog is closed by a button that says that the person has it. */

import type { ComponentChildren } from 'preact'
import { Id } from './values.tsx'
import { texts } from '../texts.ts'

interface OnceProps {
  readonly text: string
  /** Name and value. */
  readonly secrets: readonly (readonly [string, string])[]
  readonly done: string
  readonly onDone: () => void
  readonly children?: ComponentChildren
}

export function Once({ text, secrets, done, onDone, children }: OnceProps) {
  return (
    <div class="form" role="status">
      <p>{text}</p>
      <dl class="facts">
        {secrets.map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd key={value}>
              <code>{value}</code> <Id value={value} shown={texts.units.copy} />
            </dd>
          </>
        ))}
      </dl>
      {children}
      <p>
        <button type="button" class="main" onClick={onDone}>
          {done}
        </button>
      </p>
    </div>
  )
}
