// The one thing of Node's that is used.
declare const process: { argv: string[] };
