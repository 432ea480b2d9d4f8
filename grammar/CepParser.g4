// The pattern language. Every decision needs one token of lookahead: the generated parser never simulates the ATN,
// which is what makes it fast in Python (tests/syntax/test_grammar.py holds it to that).
//
// Two things are left to the tree builder, both to stay LL(1) and shallow:
//   * clauses are accepted in any order and number; it reports the ones that are repeated or misplaced;
//   * `expression` and `value` are flat lists; it nests AND under OR, and `* / %` under `+ -`, all left-associative.
parser grammar CepParser;

options { tokenVocab = CepLexer; }

cepFile : statements+=statement* EOF ;

statement
    : IMPORT path=STRING SEMI                                                                  # importStatement
    | head=streamHead LPAREN columns+=column (COMMA columns+=column)* RPAREN
      clauses+=streamClause* SEMI                                                              # streamStatement
    | head=patternHead clauses+=patternClause* SEMI                                            # patternStatement
    ;

// --- streams ---

streamHead : STREAM name=identifier ;

column : name=word type_=identifier written=format? ;

format
    : EPOCH unit=(SECOND | MILLISECOND | MICROSECOND | NANOSECOND) # epochFormat
    | FORMAT text=STRING                                           # textFormat
    ;

streamClause
    : TIMESTAMP BY key=word      # timestampClause
    | WATERMARK length=duration  # watermarkClause
    | IDLE AFTER length=duration # idleClause
    | MAX AHEAD length=duration  # aheadClause
    | ORDER BY key=word          # orderClause
    ;

// --- patterns ---

patternHead : PATTERN name=identifier what=body ;

body
    : operator=(SEQ | AND | OR) LPAREN items+=body (COMMA items+=body)* RPAREN # group
    | NOT item=body                                                            # absence
    | name=identifier rest=stepRest                                            # step
    ;

// `FIRST`, `LAST`, `NEXT` and `RUN` are names: what follows says whether they are streams. The builder knows which.
stepRest
    : LPAREN items+=body (COMMA items+=body)* RPAREN # selected
    | repeat=quantifier? var=identifier              # bound
    ;

quantifier
    : PLUS                                                    # oneOrMore
    | STAR                                                    # zeroOrMore
    | QUESTION                                                # zeroOrOne
    | LBRACE least=INTEGER (upTo=COMMA most=INTEGER?)? RBRACE # counted
    ;

patternClause
    : WHERE condition_=expression                                        # whereClause
    | PARTITION BY keys+=word (COMMA keys+=word)*                        # partitionClause
    | WITHIN length=duration                                             # withinClause
    | UNBOUNDED                                                          # unboundedClause
    | RETURN distinct=DISTINCT? items+=returnItem (COMMA items+=returnItem)* # returnClause
    ;

returnItem : what=expression (AS alias=word)? ;

// --- expressions ---

expression : terms+=condition (operators+=(AND | OR) terms+=condition)* ;

condition : negations+=NOT* operand=value test_=test? ;

test
    : operator=(EQ | NE | LT | LE | GT | GE) right=value # comparison
    | IS negated=NOT? NULL                               # nullTest
    | NOT positive=membership                            # negatedTest
    | positive=membership                                # positiveTest
    ;

membership
    : IN LPAREN items+=expression (COMMA items+=expression)* RPAREN # inList
    | BETWEEN low=value AND high=value                              # between
    | LIKE like=value                                               # like
    ;

value : operands+=primary (operators+=(PLUS | MINUS | STAR | SLASH | PERCENT) operands+=primary)* ;

primary
    : MINUS operand=primary                                                              # negative
    | LPAREN inner=expression RPAREN                                                     # parenthesis
    | number=(INTEGER | DECIMAL) unit=(MILLISECOND | SECOND | MINUTE | HOUR | DAY)?      # number
    | string=STRING                                                                      # string
    | TRUE                                                                               # trueLiteral
    | FALSE                                                                              # falseLiteral
    | NULL                                                                               # nullLiteral
    | CASE operand_=expression? whens+=when+ (ELSE otherwise=expression)? END            # caseExpression
    | keyword=TIMESTAMP (string=STRING | use=reference)?                                 # timestamp
    | name=(IDENTIFIER | QUOTED | WATERMARK | BY | ORDER | MAX | AHEAD | EPOCH | FORMAT | MICROSECOND | NANOSECOND
           | MILLISECOND | SECOND | MINUTE | HOUR | DAY | IDLE | AFTER) use=reference?   # named
    ;

reference
    : DOT attribute_=word              # attribute
    | LPAREN args_=arguments? RPAREN   # call
    ;

arguments
    : STAR                                                             # star
    | distinct=DISTINCT? items+=expression (COMMA items+=expression)* # list
    ;

when : WHEN condition_=expression THEN result=expression ;

duration : number=(INTEGER | DECIMAL) unit=(MILLISECOND | SECOND | MINUTE | HOUR | DAY) ;

// --- names ---

identifier : token=(IDENTIFIER | QUOTED | TIMESTAMP | WATERMARK | BY | ORDER | MAX | AHEAD | EPOCH | FORMAT | MICROSECOND | NANOSECOND
                   | MILLISECOND | SECOND | MINUTE | HOUR | DAY | IDLE | AFTER) ;

// Where nothing but a name can stand (columns, attributes, aliases), reserved words serve too, except the operators
// and the words that start a clause.
word : token=(IDENTIFIER | QUOTED | TIMESTAMP | WATERMARK | BY | ORDER | MAX | AHEAD | EPOCH | FORMAT | MICROSECOND | NANOSECOND
             | MILLISECOND | SECOND | MINUTE | HOUR | DAY | IDLE | AFTER
             | STREAM | PATTERN | IMPORT | SEQ | DISTINCT | AS | IS | NULL | TRUE | FALSE | CASE | WHEN | THEN | ELSE | END) ;
